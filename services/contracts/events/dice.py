"""Events of the dice games."""

from __future__ import annotations

from services.contracts.events.base import Fact
from services.contracts.events.chance import DiceDraw


class Rolled(Fact, frozen=True, tag="rolled"):
    """Dice fell; ``total`` is the player's sum after them."""

    seat: int
    draw: DiceDraw
    total: int


class Busted(Fact, frozen=True, tag="busted"):
    """The last roll went above the target: the score is zero and the turn is over."""

    seat: int


class Stood(Fact, frozen=True, tag="stood"):
    """A player keeps the total as the score: by choice, or because exactly the target won at once (``instant_win``)."""

    seat: int
    score: int
    instant_win: bool = False


class PlayoffStarted(Fact, frozen=True, tag="playoff-started"):
    """Tied players play for the round; ``order`` is the order of their turns (DR-3.2)."""

    round: int
    order: tuple[int, ...]
