"""What a bot is, and what it may know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from services.contracts.events.base import Fact
from services.engine.rules.kernel import Move

Level = Literal["casual", "sharp"]
"""``casual`` plays as people do among friends; ``sharp`` plays to win."""

LEVELS: Final[tuple[Level, ...]] = get_args(Level)


class Situation(Struct, frozen=True):
    """All that a bot knows when it decides: what its seat sees, and nothing else (G15).

    Attributes:
        game: the game's id.
        options: the game's own options, with every value filled in.
        seat: the bot's own.
        view: what ``observe`` shows this seat, in the game's own shape.
        legal: the seat's legal moves as a client gets them; a stake stands as its range.
        turn: the seat that must decide next.
        may_act: every seat that has a legal move.
        history: the facts of the running round or deal so far, as ``redact`` shows them to this seat, oldest first. It
            begins with ``round-started``; before the first round it holds what there was.
    """

    game: str
    options: Any
    seat: int
    view: Any
    legal: tuple[Struct, ...]
    turn: int
    may_act: tuple[int, ...]
    history: tuple[Fact, ...]

    @property
    def on_turn(self) -> bool:
        """Whether the match waits for this seat; if not, only calls and catches are open to it."""
        return self.turn == self.seat


Choose = Callable[[Situation, Random], Move | None]
"""Returns the move to make, or None for none, which is an answer only beside the turn."""


@dataclass(frozen=True, slots=True)
class Bot:
    """One game at one level."""

    game: str
    level: str
    choose: Choose
