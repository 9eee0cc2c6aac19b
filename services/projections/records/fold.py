"""From the events of a match to its marks: the best value of each kind of record, and the event that set it.

Pure: a row goes in, an event goes in, the next row comes out.

Marks are kept of public rated matches, which are those between people and without house rules: under the same
conditions, and to be looked at by everybody. They enter the table when the match has ended, and leave it when it is
voided. A match in which somebody was eliminated is not the fastest, whatever the clock says; its other marks stand.

Of two equal values the first in the log counts, within a match as between matches.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Recorded
from services.contracts.events.base import Fact
from services.contracts.events.cards import (
    Lapsed,
    MacaoCaught,
    PenaltyCancelled,
    PenaltyStacked,
    PenaltyTaken,
)
from services.contracts.events.catalogue import decode
from services.contracts.events.chips import Paid
from services.contracts.events.dice import Busted
from services.contracts.events.match import MatchEnded, MatchStarted, PlayerEliminated, RoundEnded
from services.projections.records.kinds import Name

TYPES: Final = frozenset({
    "match-started", "match-ended", "match-voided", "player-eliminated", "round-ended", "penalty-stacked",
    "penalty-taken", "penalty-cancelled", "lapsed", "macao-caught", "busted", "paid",
})  # fmt: skip


class Mark(Struct, frozen=True, array_like=True):
    """A value, and the event that brought it about.

    Attributes:
        version: of that event in the match's stream: where a replay shows it.
        seat: who did it, None where it is the match's.
    """

    value: int
    version: int
    seat: int | None


class Match(Struct, frozen=True):
    """A match that may set records.

    Attributes:
        players: by seat.
        rounds: played to their end.
        chain: plays that the open penalty was made of, 0 where none is open.
        busts: by seat; so are ``catches``.
        whole: whether nobody was eliminated.
        ended: whether its marks stand.
    """

    game: str
    players: tuple[str, ...]
    started_at_ms: int
    busts: tuple[int, ...]
    catches: tuple[int, ...]
    rounds: int = 0
    chain: int = 0
    whole: bool = True
    ended: bool = False
    marks: dict[Name, Mark] = {}


def evolve(match: Match | None, recorded: Recorded) -> Match | None:
    """Return the match after an event of its stream; None: it sets no records.

    An event that changes nothing gives back the very object that came in.
    """
    event = recorded.event
    if event.type not in TYPES or (match is None and event.type != "match-started"):
        return match
    fact = decode(event.type, event.schema, event.body)
    if isinstance(fact, MatchStarted):
        return _enter(fact, event.at_ms)
    return None if match is None else _play(match, fact, event.version, event.at_ms)


def _enter(started: MatchStarted, at_ms: int) -> Match | None:
    people = all(seat.bot is None for seat in started.seats)
    if started.visibility != "public" or not started.rated or not people:
        return None
    nothing = (0,) * len(started.seats)
    return Match(started.game, tuple(seat.player for seat in started.seats), at_ms, nothing, nothing)


def _play(match: Match, fact: Fact, version: int, at_ms: int) -> Match | None:
    match fact:
        case PenaltyStacked():
            match = replace(match, chain=match.chain + 1)
            match = _mark(match, "longest-chain", Mark(match.chain, version, fact.seat))
            return _mark(match, "largest-penalty", Mark(fact.total, version, fact.seat))
        case PenaltyTaken() | PenaltyCancelled():
            return replace(match, chain=0)
        case Lapsed():
            return replace(match, chain=0) if fact.penalty else match
        case MacaoCaught():
            catches = _one_more(match.catches, fact.by)
            match = replace(match, catches=catches)
            return _mark(match, "most-caught-out", Mark(catches[fact.by], version, fact.by))
        case Busted():
            busts = _one_more(match.busts, fact.seat)
            match = replace(match, busts=busts)
            return _mark(match, "most-busts", Mark(busts[fact.seat], version, fact.seat))
        case Paid():
            return _mark(match, "largest-payment", Mark(fact.amount, version, fact.seat))
        case RoundEnded():
            match = replace(match, rounds=match.rounds + 1, chain=0)
            return _mark(match, "most-rounds", Mark(match.rounds, version, None))
        case PlayerEliminated():
            return replace(match, whole=False)
        case MatchEnded():
            if match.whole:
                match = _mark(match, "fastest-match", Mark(at_ms - match.started_at_ms, version, None))
            return replace(match, ended=True)
        case _:
            return None  # voided


def _mark(match: Match, name: Name, mark: Mark) -> Match:
    """Set a mark if it is above the one that the match has."""
    before = match.marks.get(name)
    if before is not None and before.value >= mark.value:
        return match
    return replace(match, marks={**match.marks, name: mark})


def _one_more(counts: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(count + (at == seat) for at, count in enumerate(counts))
