"""A table: what people do at it, what follows, and what it then looks like. Pure.

Somebody opens a table and is its host, in seat 0. Others join free seats, leave, and add a seed of their own to
the chance of the next match; the commitment to the service's seed stands before any of that. The host may change
the settings, remove somebody, and start the match when every seat is taken. While a match runs nothing changes.
After it everybody still sits there, under a new commitment, and the host may start the next. When the host leaves,
the next player clockwise is the host; when nobody is left, the table closes.
"""

from __future__ import annotations

from typing import Any, Final, Literal, assert_never

from msgspec import Raw, Struct
from msgspec.structs import replace

from services.contracts.events.catalogue import TableFact
from services.contracts.events.table import (
    CommitmentPublished,
    HostPassed,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    SeedGiven,
    SettingsChanged,
    TableClosed,
    TableOpened,
)

NO_SEED: Final = "-"

TurnSeconds = Literal[10, 30] | None
Visibility = Literal["public", "private"]


class Seat(Struct, frozen=True):
    """Somebody on a seat. ``bot`` is the level of a bot, None for a person."""

    player: str
    seed: str = NO_SEED
    bot: str | None = None


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

    def seat_of(self, player: str) -> int | None:
        """Return the seat that a player sits on, or None."""
        return next(
            (number for number, seat in enumerate(self.seats) if seat is not None and seat.player == player),
            None,
        )


# What can be asked of a table.


class Open(Struct, frozen=True):
    """Open a table under a commitment that was published before."""

    game: str
    rules_version: int
    settings: Settings
    commitment: Commitment


class Join(Struct, frozen=True):
    """Sit down, on ``seat`` or on any; ``invite_hash`` is that of the code that was given."""

    seat: int | None = None
    seed: str = NO_SEED
    invite_hash: str | None = None


class Leave(Struct, frozen=True):
    """Stand up."""


class Remove(Struct, frozen=True):
    """Free somebody's seat."""

    seat: int


class GiveSeed(Struct, frozen=True):
    """Give or change the own contribution to chance."""

    seed: str


class ChangeSettings(Struct, frozen=True):
    """Play by other settings from the next match on."""

    settings: Settings


class Start(Struct, frozen=True):
    """Start the match."""


class Finish(Struct, frozen=True):
    """A match is over; the next one is played under ``commitment``, or none, as today's rules cannot play it."""

    match: str
    commitment: Commitment | None


Order = Join | Leave | Remove | GiveSeed | ChangeSettings | Start | Finish


class Refusal(Struct, frozen=True):
    """Why not: a code of the catalogue of problems, and values that belong to it."""

    code: str
    params: dict[str, Any] | None = None


Decision = tuple[TableFact, ...] | Refusal


def decide_open(order: Open, host: str) -> tuple[TableFact, ...]:
    """Return what opening a table leads to. The commitment comes before the host sits down, as before any player."""
    settings = order.settings
    opened = TableOpened(
        game=order.game,
        rules_version=order.rules_version,
        options=settings.options,
        seats=settings.seats,
        turn_seconds=settings.turn_seconds,
        visibility=settings.visibility,
        rated=settings.rated,
        host=host,
        invite_hash=settings.invite_hash,
    )
    return opened, _published(order.commitment), PlayerJoined(seat=0, player=host, seed=NO_SEED)


def decide(table: Table, order: Order, actor: str) -> Decision:
    """Return what ``actor``'s order leads to, at least one event, or why it is refused."""
    if table.state == "closed":
        return Refusal("table-closed")
    if isinstance(order, Finish):
        return _finish(table, order)
    if table.state == "playing":
        return Refusal("match-running", {"match_id": table.match})
    match order:
        case Join():
            return _join(table, order, actor)
        case Leave():
            seat = table.seat_of(actor)
            return Refusal("not-seated") if seat is None else _vacate(table, seat, "left")
        case GiveSeed():
            seat = table.seat_of(actor)
            return Refusal("not-seated") if seat is None else (SeedGiven(seat, order.seed),)
        case Remove() | ChangeSettings() | Start() if actor != table.host:
            return Refusal("not-host")
        case Remove():
            return _remove(table, order)
        case ChangeSettings():
            return _change(table, order.settings)
        case Start():
            return _start(table)
        case _:
            assert_never(order)


def _join(table: Table, order: Join, actor: str) -> Decision:
    if table.seat_of(actor) is not None:
        return Refusal("already-seated", {"seat": table.seat_of(actor)})
    if table.settings.visibility == "private" and order.invite_hash != table.settings.invite_hash:
        return Refusal("invite-code-wrong")
    free = [number for number, seat in enumerate(table.seats) if seat is None]
    if order.seat is not None and not 0 <= order.seat < len(table.seats):
        return Refusal("no-such-seat", {"seats": len(table.seats)})
    if not free:
        return Refusal("table-full")
    if order.seat is not None and order.seat not in free:
        return Refusal("seat-taken", {"free": free})
    return (PlayerJoined(free[0] if order.seat is None else order.seat, actor, order.seed),)


def _remove(table: Table, order: Remove) -> Decision:
    if not 0 <= order.seat < len(table.seats):
        return Refusal("no-such-seat", {"seats": len(table.seats)})
    if table.seats[order.seat] is None:
        return Refusal("seat-free")
    return _vacate(table, order.seat, "removed")


def _vacate(table: Table, seat: int, reason: Literal["left", "removed"]) -> tuple[TableFact, ...]:
    """Free a taken seat; pass the host's place on, or close the table, where that follows."""
    leaver = table.seats[seat]
    if leaver is None:
        raise ValueError(f"seat {seat} of {table.id} is free")
    left = PlayerLeft(seat, leaver.player, reason)
    # Clockwise from the seat that became free; a bot cannot be the host.
    clockwise = table.seats[seat + 1 :] + table.seats[:seat]
    people = [other.player for other in clockwise if other is not None and other.bot is None]
    if not people:
        return left, TableClosed("empty")
    if leaver.player == table.host:
        return left, HostPassed(people[0])
    return (left,)


def _change(table: Table, settings: Settings) -> Decision:
    in_use = [
        number for number, seat in enumerate(table.seats) if seat is not None and number >= settings.seats
    ]
    if in_use:
        return Refusal("seats-in-use", {"seats": in_use})
    return (
        SettingsChanged(
            options=settings.options,
            seats=settings.seats,
            turn_seconds=settings.turn_seconds,
            visibility=settings.visibility,
            rated=settings.rated,
            invite_hash=settings.invite_hash,
        ),
    )


def _start(table: Table) -> Decision:
    free = [number for number, seat in enumerate(table.seats) if seat is None]
    if free:
        return Refusal("seats-empty", {"free": free})
    if table.commitment is None:
        return Refusal("unavailable")
    return (MatchRequested(table.commitment.match),)


def _finish(table: Table, order: Finish) -> Decision:
    if table.state != "playing" or table.match != order.match:
        return Refusal("match-over")
    finished = MatchFinished(order.match)
    return finished, TableClosed("operator") if order.commitment is None else _published(order.commitment)


def _published(commitment: Commitment) -> CommitmentPublished:
    return CommitmentPublished(commitment.match, commitment.commitment, commitment.number)


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
        case CommitmentPublished():
            # A seed that the service knew before it committed proves nothing: everybody starts from none again.
            seats = tuple(None if seat is None else replace(seat, seed=NO_SEED) for seat in table.seats)
            return replace(
                table, commitment=Commitment(fact.match, fact.commitment, fact.number), seats=seats
            )
        case SettingsChanged():
            settings = Settings(
                fact.options, fact.seats, fact.turn_seconds, fact.visibility, fact.rated, fact.invite_hash
            )
            seats = (table.seats + (None,) * fact.seats)[: fact.seats]
            return replace(table, settings=settings, seats=seats)
        case PlayerJoined():
            return _seated(table, fact.seat, Seat(fact.player, fact.seed))
        case PlayerLeft():
            return _seated(table, fact.seat, None)
        case SeedGiven():
            seat = table.seats[fact.seat]
            return _seated(table, fact.seat, None if seat is None else replace(seat, seed=fact.seed))
        case HostPassed():
            return replace(table, host=fact.player)
        case MatchRequested():
            return replace(table, state="playing", match=fact.match)
        case MatchFinished():
            return replace(table, state="open", commitment=None)
        case TableClosed():
            return replace(table, state="closed")
        case _:
            assert_never(fact)


def _seated(table: Table, number: int, seat: Seat | None) -> Table:
    return replace(table, seats=(*table.seats[:number], seat, *table.seats[number + 1 :]))
