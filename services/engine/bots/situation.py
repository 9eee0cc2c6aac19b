"""The one place where it is decided what a bot gets to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from services.contracts.events.base import Fact
from services.contracts.events.match import RoundStarted
from services.engine.bots.bot import Situation
from services.engine.rules import match as matches
from services.engine.rules.match import Match


def situation(match: Match, seat: int, facts: Iterable[Fact]) -> Situation | None:
    """Return what the bot in a seat may know of a match, None if it has nothing to decide.

    Args:
        match: the match as it stands.
        seat: the bot's.
        facts: those of the running round, whole; what the seat may not see is taken out here.
    """
    waiting = matches.pending(match)
    if waiting is None or seat not in waiting.may_act:
        return None
    return Situation(
        game=match.rules.name,
        options=msgspec.json.decode(match.started.options, type=match.rules.options),
        seat=seat,
        view=matches.observe(match, seat),
        legal=matches.legal(match, seat),
        turn=waiting.turn,
        may_act=waiting.may_act,
        history=tuple(matches.redact(match.rules, fact, seat) for fact in facts),
    )


def of_running_round(known: Sequence[Fact], more: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts of the running round, from those known of it so far and the ones that followed."""
    for at in range(len(more) - 1, -1, -1):
        if isinstance(more[at], RoundStarted):
            return tuple(more[at:])
    return (*known, *more)
