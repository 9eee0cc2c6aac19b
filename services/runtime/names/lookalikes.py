"""The form of a name in which names that look alike are equal.

It is never shown, and errs on the side of "the same": with Ana_Maria there is no ANA MARIA, no Anà-Maria, and no
name that is written in Cyrillic and reads Ana Maria all the same.
"""

# ruff: noqa: RUF001 - letters that look alike are what this is about

from __future__ import annotations

import unicodedata
from typing import Final

SEPARATORS: Final = " -_'"

_ALIKE: Final = str.maketrans(
    {
        **dict.fromkeys(SEPARATORS, ""),
        # Digits, and pairs of letters that run together.
        "0": "o", "1": "l", "i": "l", "m": "rn", "w": "vv",
        # Latin letters that do not come apart into a letter and an accent.
        "ı": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ł": "l", "ŧ": "t", "æ": "ae", "œ": "oe", "ŋ": "n",
        "ə": "e", "ĸ": "k", "þ": "p",
        # Cyrillic, as its small or its capital letters look.
        "а": "a", "в": "b", "г": "r", "ґ": "r", "е": "e", "з": "3", "к": "k", "м": "rn", "н": "h", "о": "o", "п": "n",
        "р": "p", "с": "c", "т": "t", "у": "y", "х": "x", "ь": "b", "ѕ": "s", "і": "l", "ј": "j", "ѵ": "v",
        "ҝ": "k", "қ": "k", "ң": "h", "ҥ": "h", "ҫ": "c", "ү": "y", "ұ": "y", "ҳ": "x", "һ": "h", "ӏ": "l", "ә": "e",
        "ө": "o", "ғ": "f", "ӡ": "3", "ӕ": "ae",
        # Greek, likewise.
        "α": "a", "β": "b", "γ": "y", "ε": "e", "ζ": "z", "η": "h", "ι": "l", "κ": "k", "μ": "rn", "ν": "v", "ο": "o",
        "ρ": "p", "σ": "o", "τ": "t", "υ": "y", "χ": "x", "ω": "vv",
        # Armenian.
        "օ": "o", "ո": "n", "ս": "u", "հ": "h", "զ": "q", "յ": "j", "ց": "g", "լ": "l",
    }
)  # fmt: skip


def canonical(name: str) -> str:
    """Return what two names have in common that a person may take for each other; not empty for a valid name.

    Any text has such a form; it holds no character that a database could not keep.
    """
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    plain = "".join(
        one for one in apart if not unicodedata.combining(one) and unicodedata.category(one)[0] != "C"
    )
    return plain.translate(_ALIKE)
