"""What a player may be called. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

LENGTH_MIN: Final = 2
LENGTH_MAX: Final = 24

_SCRIPTS_APART: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Scripts with letters that look alike; a name takes from one of them at most."""


def tidied(name: str) -> str:
    """Return a name in composed form, without spaces at its ends."""
    return unicodedata.normalize("NFC", name).strip(" ")


def fault_of(name: str) -> str | None:
    """Return the rule that a tidied name breaks, or None.

    The rules are ``length``, ``characters``, ``beginning``, ``spaces`` and ``scripts``.
    """
    if not LENGTH_MIN <= len(name) <= LENGTH_MAX:
        return "length"
    if not all(_is_letter(one) or one.isdecimal() or one in " -_" for one in name):
        return "characters"
    if not _is_letter(name[0]):
        return "beginning"
    if "  " in name:
        return "spaces"
    scripts = {unicodedata.name(one, "").partition(" ")[0] for one in name if _is_letter(one)}
    if len(scripts & _SCRIPTS_APART) > 1:
        return "scripts"
    return None


def _is_letter(one: str) -> bool:
    # Letters that only look like other ones (full-width, mathematical) fold to those: they are not taken.
    return unicodedata.category(one) in ("Lu", "Ll", "Lo", "Lt") and unicodedata.normalize("NFKC", one) == one
