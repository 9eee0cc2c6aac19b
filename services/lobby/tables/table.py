"""A table, folded from its events. Pure; ``deciding`` says what people can do at it.

Somebody opens a table and is its host, in seat 0. Others join free seats, leave, and add a seed of their own to
the chance of the next match; the commitment to the service's seed stands before any of that. While a match runs
nothing changes. After it everybody still sits there, under a new commitment, and the host may start the next.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import Raw, Struct
from msgspec.structs import replace

from services.contracts.events.catalogue import TableFact
from services.contracts.events.table import (
    BotSeated,
    CommitmentPublished,
    HostPassed,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    PlayerMoved,
    QuickMatchOpened,
    SeedGiven,
    SettingsChanged,
    TableClosed,
    TableOpened,
)

NO_SEED: Final = "-"

TurnSeconds = Literal[10, 30] | None
Visibility = Literal["public", "private"]
Level = Literal["casual", "sharp"]


class Seat(Struct, frozen=True):
    """Somebody on a seat. ``bot`` is the level of a bot, None for a person."""

    player: str
    seed: str = NO_SEED
    bot: Level | None = None


class Commitment(Struct, frozen=True):
    """The commitment to the chance of one match, with the id that the match has or will have."""

    match: str
    commitment: str
    number: int


class Settings(Struct, frozen=True):
    """What the host chooses. ``invite_hash`` is SHA-256 of the invitation code (hex) of a private table."""

    options: Raw
    seats: int
    turn_seconds: TurnSeconds
    visibility: Visibility
    rated: bool
    invite_hash: str | None


class Table(Struct, frozen=True):
    """A table as its events leave it.

    Attributes:
        version: how many events it has.
        seats: seat 0 first; None is a free seat.
        commitment: the one for the next match, or for the one that is running.
        match: the running match while ``state`` is ``playing``, else the last one.
        quick_min: while quick match fills the table: how many players it needs before it starts by itself.
        bot_sat: a bot has sat here. The table is off the leaderboard from then on, also without it (CP-9.1).
    """

    id: str
    version: int
    state: Literal["open", "playing", "closed"]
    game: str
    rules_version: int
    settings: Settings
    host: str
    seats: tuple[Seat | None, ...]
    commitment: Commitment | None = None
    match: str | None = None
    quick_min: int | None = None
    bot_sat: bool = False

    @property
    def seated(self) -> list[Seat]:
        """Who sits here, in seat order."""
        return [seat for seat in self.seats if seat is not None]

    @property
    def free(self) -> list[int]:
        """The seats on which nobody sits."""
        return [number for number, seat in enumerate(self.seats) if seat is None]

    @property
    def rated(self) -> bool:
        """Whether a match at this table is rated: never once a bot has sat here (CP-9.1)."""
        return self.settings.rated and not self.bot_sat

    def seat_of(self, player: str) -> int | None:
        """Return the seat that a player sits on, or None."""
        return next(
            (number for number, seat in enumerate(self.seats) if seat is not None and seat.player == player),
            None,
        )


def opened(table: str, fact: TableOpened) -> Table:
    """Return the table that its first event makes."""
    settings = Settings(
        fact.options, fact.seats, fact.turn_seconds, fact.visibility, fact.rated, fact.invite_hash
    )
    return Table(
        id=table,
        version=1,
        state="open",
        game=fact.game,
        rules_version=fact.rules_version,
        settings=settings,
        host=fact.host,
        seats=(None,) * fact.seats,
    )


def evolve(table: Table, fact: TableFact) -> Table:
    """Return the table after an event."""
    table = replace(table, version=table.version + 1)
    match fact:
        case TableOpened():
            raise ValueError(f"{table.id} is opened a second time")
        case QuickMatchOpened():
            return replace(table, quick_min=fact.seats_min)
        case CommitmentPublished():
            # A seed that the service knew before it committed proves nothing: everybody starts from none again.
            seats = tuple(None if seat is None else replace(seat, seed=NO_SEED) for seat in table.seats)
            commitment = Commitment(fact.match, fact.commitment, fact.number)
            return replace(table, commitment=commitment, seats=seats)
        case SettingsChanged():
            settings = Settings(
                fact.options, fact.seats, fact.turn_seconds, fact.visibility, fact.rated, fact.invite_hash
            )
            seats = (table.seats + (None,) * fact.seats)[: fact.seats]
            return replace(table, settings=settings, seats=seats)
        case PlayerJoined():
            return _seated(table, fact.seat, Seat(fact.player, fact.seed))
        case BotSeated():
            return _seated(replace(table, bot_sat=True), fact.seat, Seat(fact.player, bot=fact.level))
        case PlayerMoved():
            return _seated(_seated(table, fact.to, table.seats[fact.seat]), fact.seat, None)
        case PlayerLeft():
            return _seated(table, fact.seat, None)
        case SeedGiven():
            seat = table.seats[fact.seat]
            return _seated(table, fact.seat, None if seat is None else replace(seat, seed=fact.seed))
        case HostPassed():
            return replace(table, host=fact.player)
        case MatchRequested():
            return replace(table, state="playing", match=fact.match, quick_min=None)
        case MatchFinished():
            return replace(table, state="open", commitment=None)
        case TableClosed():
            return replace(table, state="closed", quick_min=None)
        case _:
            assert_never(fact)


def _seated(table: Table, number: int, seat: Seat | None) -> Table:
    return replace(table, seats=(*table.seats[:number], seat, *table.seats[number + 1 :]))
