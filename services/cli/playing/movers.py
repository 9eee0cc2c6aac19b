"""What moves where no person sits: the service's bots, or something that does whatever is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from msgspec import Struct

from services.contracts.events.base import Fact
from services.engine.bots.catalogue import BOTS
from services.engine.bots.situation import of_running_round, situation
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.kernel import Move
from services.engine.rules.match import Match

RANDOM: Final = "random"

ACTS_ASIDE_RATE: Final = 0.5
"""How often a random mover uses a chance to call or to catch while it is somebody else's turn."""


class Movers:
    """The movers of a table, by seat: a bot's level, or `RANDOM`."""

    def __init__(self, levels: Mapping[int, str], whims: Random) -> None:
        """Let them choose by these whims."""
        self._levels = levels
        self._whims = whims

    def choose(self, match: Match, seat: int, facts: Sequence[Fact]) -> Move | None:
        """Return what the mover in a seat does; None for nothing, which is an answer only beside the turn."""
        waiting = matches.pending(match)
        on_turn = waiting is not None and waiting.turn == seat
        level = self._levels[seat]
        if level == RANDOM:
            if not on_turn and self._whims.random() >= ACTS_ASIDE_RATE:
                return None
            return move_at_random(matches.legal(match, seat), self._whims)
        # The one function through which bots learn of a match gives them what their seat may see, and nothing else.
        seen = situation(match, seat, of_running_round((), facts))
        if seen is None:
            return None
        move = BOTS.bot(match.rules.name, level).choose(seen, self._whims)
        return move_at_random(seen.legal, self._whims) if move is None and on_turn else move


def move_at_random(legal: Sequence[Struct], whims: Random) -> Move:
    """Return one of the legal moves, each as likely as the next; of a range, one of its stakes.

    Raises:
        TypeError: an entry is neither a move nor a range.
    """
    entry = whims.choice(legal)
    if isinstance(entry, StakeRange):
        return Stake(whims.randint(entry.min, entry.max))
    if not isinstance(entry, Move):
        raise TypeError(f"{entry!r} cannot be played")
    return entry
