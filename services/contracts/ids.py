"""Identifiers: a prefix that names the kind, then a time-ordered ULID.

``m_01KB9Y…`` is a match, ``t_…`` a table, ``p_…`` a player, ``d_…`` a dispute. The ratings of a game are a stream under
the game's own name: ``g_dice-race``. A stream that lives in another log
than the default one carries that log's name before the ULID: ``m_north.01KB9Y…``.

Nothing here reads a clock or draws randomness: the caller passes both.
"""

from __future__ import annotations

import re
from typing import Final

MATCH: Final = "m"
TABLE: Final = "t"
PLAYER: Final = "p"
REQUEST: Final = "r"
DISPUTE: Final = "d"
RATINGS: Final = "g"

DEFAULT_LOG: Final = "main"

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID: Final = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_ID: Final = re.compile(rf"^(?P<kind>[a-z])_(?:(?P<log>[a-z][a-z0-9]{{0,31}})\.)?{_ULID}$")

ENTROPY_BYTES: Final = 10


def make_id(kind: str, at_ms: int, entropy: bytes, log: str = DEFAULT_LOG) -> str:
    """Return a new id of ``kind`` for the Unix time ``at_ms`` and ten random bytes.

    Raises:
        ValueError: the entropy is not ten bytes, or the time does not fit 48 bits.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"an id takes {ENTROPY_BYTES} random bytes, not {len(entropy)}")
    if not 0 <= at_ms < 1 << 48:
        raise ValueError(f"{at_ms} ms does not fit the 48 bits of an id's time")
    number = at_ms << 80 | int.from_bytes(entropy, "big")
    ulid = "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
    return f"{kind}_{ulid}" if log == DEFAULT_LOG else f"{kind}_{log}.{ulid}"


def ratings_of(game: str) -> str:
    """Return the id of the stream that holds the ratings of a game."""
    return f"{RATINGS}_{game}"


def is_id(kind: str, text: str) -> bool:
    """Say whether ``text`` has the form of an id of ``kind``."""
    found = _ID.match(text)
    return found is not None and found["kind"] == kind


def log_of(stream: str) -> str:
    """Name the log that a stream lives in."""
    found = _ID.match(stream)
    return (found["log"] if found else None) or DEFAULT_LOG
