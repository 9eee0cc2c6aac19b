"""Games, as far as a reader of projections knows them: a word in kebab case."""

from __future__ import annotations

import re
from typing import Final

from services.runtime.web.problems import Problem

_GAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,7}")
_CHARS_MAX: Final = 64


def game_of(text: str) -> str:
    """Return a game's id. That nobody has played it does not make it unknown: the list of games is the engine's.

    Raises:
        Problem: ``unknown-game``, it cannot be the id of any game.
    """
    if len(text) > _CHARS_MAX or _GAME.fullmatch(text) is None:
        raise Problem("unknown-game")
    return text
