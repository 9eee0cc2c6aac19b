"""The letters that a name may be written in, by script.

The list is short on purpose. Each script holds the letters that living languages are written with; what else
Unicode keeps under the same name (phonetic symbols, small capitals, letters of one manuscript) serves names only to
imitate others. Scripts that cannot be written without combining marks are missing so far.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

LATIN: Final = "Latin"
CYRILLIC: Final = "Cyrillic"
GREEK: Final = "Greek"
ARMENIAN: Final = "Armenian"
GEORGIAN: Final = "Georgian"
HEBREW: Final = "Hebrew"
ARABIC: Final = "Arabic"
CHINESE: Final = "Chinese"
JAPANESE: Final = "Japanese"
KOREAN: Final = "Korean"

_RANGES: Final = (
    ("A", "Z", LATIN),
    ("a", "z", LATIN),
    ("\u00c0", "\u00d6", LATIN),
    ("\u00d8", "\u00f6", LATIN),
    ("\u00f8", "\u017f", LATIN),
    ("\u018f", "\u018f", LATIN),  # Ə of Azerbaijani
    ("\u01a0", "\u01a1", LATIN),  # Ơ of Vietnamese
    ("\u01af", "\u01b0", LATIN),  # Ư of Vietnamese
    ("\u01cd", "\u01dc", LATIN),
    ("\u01e6", "\u01ed", LATIN),
    ("\u0200", "\u021b", LATIN),  # Ș and Ț of Romanian are the last four
    ("\u0259", "\u0259", LATIN),
    ("\u0386", "\u0386", GREEK),
    ("\u0388", "\u03ce", GREEK),
    ("\u0400", "\u045f", CYRILLIC),
    ("\u0490", "\u04ff", CYRILLIC),
    ("\u0531", "\u0556", ARMENIAN),
    ("\u0561", "\u0586", ARMENIAN),
    ("\u05d0", "\u05ea", HEBREW),
    ("\u0620", "\u063f", ARABIC),
    ("\u0641", "\u064a", ARABIC),
    ("\u0671", "\u06d3", ARABIC),
    ("\u10d0", "\u10f0", GEORGIAN),
    ("\u1e00", "\u1eff", LATIN),
    ("\u3041", "\u3096", JAPANESE),
    ("\u30a1", "\u30fa", JAPANESE),
    ("\u30fc", "\u30fc", JAPANESE),  # the long-vowel mark
    ("\u3400", "\u4dbf", CHINESE),
    ("\u4e00", "\u9fff", CHINESE),
    ("\uac00", "\ud7a3", KOREAN),
)
_STARTS: Final = [ord(first) for first, _, _ in _RANGES]

_TOGETHER: Final = (frozenset({CHINESE, JAPANESE}), frozenset({CHINESE, KOREAN}))
"""Scripts that one language writes in one word."""


def script_of(letter: str) -> str | None:
    """Return the script of a letter, or None if names have no such letter."""
    place = bisect_right(_STARTS, ord(letter)) - 1
    if place < 0:
        return None
    _, last, script = _RANGES[place]
    return script if letter <= last and letter.isalpha() else None


def go_together(scripts: set[str]) -> bool:
    """Say whether one name may have letters of all these scripts."""
    return len(scripts) < 2 or any(scripts <= allowed for allowed in _TOGETHER)  # noqa: PLR2004
