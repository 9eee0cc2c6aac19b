"""The rules for names."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from services.runtime.names.letters import go_together, script_of
from services.runtime.names.lookalikes import SEPARATORS, canonical

LENGTH_MIN: Final = 2
LENGTH_MAX: Final = 24

RULES: Final[Mapping[str, str]] = {
    "length": f"A name has {LENGTH_MIN} to {LENGTH_MAX} characters.",
    "invisible": "A name has no characters that cannot be seen.",
    "look-alike": "A name has no characters that are another character in disguise.",
    "characters": "A name has letters, digits, spaces, ' - and _ only.",
    "beginning": "A name begins with a letter.",
    "spaces": "A name has no two spaces in a row.",
    "scripts": "A name is written in one script.",
    "reserved": "This name is kept for the service.",
}
"""The rules in the order in which they are looked at, and how to tell of each."""

_OFFICES: Final = frozenset(
    canonical(word)
    for word in (
        "admin", "administrator", "administrators", "admins", "macao", "moderator", "moderators", "official",
        "operator", "operators", "staff", "support", "system", "sysadmin",
        "администратор", "админ", "модератор", "оператор", "поддержка", "amministratore", "moderatore",
    )
)  # fmt: skip
"""Nobody is called this, nor has it as a word of the name."""

_KEPT: Final = _OFFICES | frozenset(
    canonical(word)
    for word in (
        "anonymous", "auditor", "deleted", "engine", "erased", "erased player", "everybody", "everyone", "host",
        "lobby", "mod", "nobody", "none",
        "null", "operations", "owner", "postmaster", "projections", "root", "security", "server", "service",
        "somebody", "spectator", "undefined", "unknown", "webmaster",
    )
)  # fmt: skip
"""Nobody is called this, with a number behind it or not."""

_DIGITS: Final = "0123456789"


def tidied(name: str) -> str:
    """Return a name in composed form, with the plain apostrophe, without spaces at its ends."""
    return unicodedata.normalize("NFC", name).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(" ")


def fault_of(name: str) -> str | None:
    """Return the first of ``RULES`` that a tidied name breaks, or None."""
    if not LENGTH_MIN <= len(name) <= LENGTH_MAX:
        return "length"
    for one in name:
        fault = _fault_in(one)
        if fault is not None:
            return fault
    if not name[0].isalpha():
        return "beginning"
    if "  " in name:
        return "spaces"
    if not go_together({script for one in name if (script := script_of(one)) is not None}):
        return "scripts"
    return "reserved" if _is_reserved(name) else None


def made_fit(wish: str, otherwise: str) -> str:
    """Return the name nearest to a wish that keeps the rules; ``otherwise``, which does, where nothing is near."""
    kept = [one for one in tidied(unicodedata.normalize("NFKC", wish)) if _fault_in(one) is None]
    while kept and not kept[0].isalpha():
        kept.pop(0)
    name = " ".join("".join(kept).split())[:LENGTH_MAX].strip()
    return otherwise if fault_of(name) is not None else name


def _fault_in(one: str) -> str | None:
    if one in SEPARATORS or one in _DIGITS:
        return None
    category = unicodedata.category(one)
    # Control and format characters (among them zero-width ones and those that turn the direction of text),
    # halves of pairs, private ones, and every space that is not the space.
    if category[0] in "CZ" or one in "\u115f\u1160\u3164\uffa0\u2800\u034f":
        return "invisible"
    if unicodedata.normalize("NFKC", one) != one:
        return "look-alike"
    return None if script_of(one) is not None else "characters"


def _is_reserved(name: str) -> bool:
    words = name
    for separator in SEPARATORS:
        words = words.replace(separator, " ")
    return _bare(name) in _KEPT or any(_bare(word) in _OFFICES for word in words.split(" "))


def _bare(word: str) -> str:
    return canonical(word.rstrip(_DIGITS + SEPARATORS))
