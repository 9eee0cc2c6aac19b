"""The history of matches as a pure fold over their events: one row a match."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Recorded
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import decode
from services.contracts.events.match import (
    MatchEnded,
    MatchStarted,
    MatchVoided,
    PlayerEliminated,
    RoundEnded,
)
from services.projections.history import tally

TYPES: Final = tally.TYPES | {
    "match-started", "round-ended", "player-eliminated", "match-ended", "match-voided",
}  # fmt: skip

Status = Literal["running", "ended", "voided"]


class Row(Struct, frozen=True):
    """A match.

    Attributes:
        players: by seat.
        bots: by seat, the bot's level or None for a person.
        rounds: rounds, coups or deals that were played to their end.
        rounds_won: by seat; who shares a round has won it too.
        eliminated: seats that left or ran out of time, in that order.
        places: by seat, None until the match has ended.
        started_position: where in the log it started; the order of the history.
        ended_at_ms: Unix time when it ended or, if it never did, was voided.
        ended_position: where in the log it ended, None if it has not.
        bank: the seat that holds the bank, or ``tally.NOBODY``.
        tally: what is counted, seat by seat (``tally.FIGURES``).
    """

    match: str
    table: str
    game: str
    players: tuple[str, ...]
    bots: tuple[str | None, ...]
    rated: bool
    visibility: Literal["public", "private"]
    started_position: int
    started_at_ms: int
    rounds_won: tuple[int, ...]
    rounds: int = 0
    eliminated: tuple[int, ...] = ()
    status: Status = "running"
    places: tuple[int, ...] | None = None
    ended_at_ms: int | None = None
    ended_position: int | None = None
    bank: int = tally.NOBODY
    tally: tuple[int, ...] = ()


def evolve(row: Row | None, recorded: Recorded) -> Row | None:
    """Return the match after an event of its stream; an event that changes nothing gives back the same object."""
    event = recorded.event
    if event.type not in TYPES:
        return row
    fact = decode(event.type, event.schema, event.body)
    if isinstance(fact, MatchStarted):
        return _started(fact, recorded)
    if row is None:
        return None
    match fact:
        case RoundEnded():
            won = tuple(count + (seat in fact.winners) for seat, count in enumerate(row.rounds_won))
            return replace(row, rounds=row.rounds + 1, rounds_won=won)
        case PlayerEliminated():
            return replace(row, eliminated=(*row.eliminated, fact.seat))
        case MatchEnded():
            return replace(
                row, status="ended", places=fact.places, ended_at_ms=event.at_ms,
                ended_position=recorded.position,
            )  # fmt: skip
        case MatchVoided():
            # A match that had ended keeps its places and its end: they were played, they do not count.
            ended_at_ms = event.at_ms if row.ended_at_ms is None else row.ended_at_ms
            return replace(row, status="voided", ended_at_ms=ended_at_ms)
        case _:
            return _counted(row, fact)


def _counted(row: Row, fact: Fact) -> Row:
    additions = tally.added(fact, row.bank)
    if additions:
        return replace(row, tally=tally.add(row.tally, additions))
    bank = tally.bank_after(row.bank, fact)
    return row if bank == row.bank else replace(row, bank=bank)


def _started(fact: MatchStarted, recorded: Recorded) -> Row:
    return Row(
        match=fact.match, table=fact.table, game=fact.game,
        players=tuple(seat.player for seat in fact.seats), bots=tuple(seat.bot for seat in fact.seats),
        rated=fact.rated, visibility=fact.visibility, started_position=recorded.position,
        started_at_ms=recorded.event.at_ms, rounds_won=(0,) * len(fact.seats),
        tally=(0,) * (len(fact.seats) * len(tally.FIGURES)),
    )  # fmt: skip
