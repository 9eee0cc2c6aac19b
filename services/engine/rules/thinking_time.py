"""Whose thinking time runs, and since when (G10). The rules never look at the time of day; this only keeps it.

The clock belongs to the player who has to decide. Others who call, catch or leave meanwhile give that player no more
time; a new round does, even if it comes to the same seat.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.match import RoundStarted
from services.engine.rules.kernel import Move
from services.engine.rules.match import Match, pending


class TurnClock(Struct, frozen=True):
    """The clock between two commands.

    Attributes:
        turn: the seat that must decide, None when the match is over.
        since_ms: since when it must, Unix time in milliseconds.
    """

    turn: int | None = None
    since_ms: int = 0


def after(clock: TurnClock, match: Match, move: Move | None, facts: Sequence[Fact], at_ms: int) -> TurnClock:
    """Return the clock after a command.

    Args:
        clock: before it.
        match: after it.
        move: what it asked for; None for the start, and where a match is stopped.
        facts: what it led to.
        at_ms: when it was decided.
    """
    waiting = pending(match)
    turn = waiting.turn if waiting else None
    aside = move is not None and move.ANY_VERSION
    if turn == clock.turn and aside and not any(isinstance(fact, RoundStarted) for fact in facts):
        return clock
    return TurnClock(turn, at_ms)
