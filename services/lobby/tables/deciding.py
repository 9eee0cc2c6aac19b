"""What an order at a table leads to: events, or a refusal. Pure.

Whoever sits may leave and give a seed. The host may also remove somebody, sit bots down, hand the table over, change
the settings, and start the match when every seat is taken. When the host leaves, the next person clockwise is the
host; when no person is left, the table closes.

A table of quick match has no need of a host before its first match: nobody is removed, nothing is changed, and it
starts by itself.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

from msgspec import Struct
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
from services.lobby.tables.orders import (
    ChangeSettings,
    Expire,
    Finish,
    GiveSeed,
    Join,
    Leave,
    Open,
    Order,
    PassHost,
    Remove,
    SeatBot,
    StandUp,
    Start,
    StartQuick,
)
from services.lobby.tables.table import NO_SEED, Commitment, Settings, Table, evolve


class Refusal(Struct, frozen=True):
    """Why not: a code of the catalogue of problems, and values that belong to it."""

    code: str
    params: dict[str, Any] | None = None


Facts = tuple[TableFact, ...]
Decision = Facts | Refusal


def decide_open(order: Open, host: str) -> Facts:
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
    quick = () if order.quick_min is None else (QuickMatchOpened(order.quick_min),)
    return opened, *quick, _published(order.commitment), PlayerJoined(seat=0, player=host, seed=NO_SEED)


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
        case StandUp():
            seat = table.seat_of(order.player)
            return Refusal("not-seated") if seat is None else _vacate(table, seat, "left")
        case Expire():
            return (TableClosed("expired"),)
        case GiveSeed():
            seat = table.seat_of(actor)
            return Refusal("not-seated") if seat is None else (SeedGiven(seat, order.seed),)
        case StartQuick():
            return _start_quick(table, order)
        case _:
            return Refusal("not-host") if actor != table.host else _by_host(table, order)


def _by_host(table: Table, order: SeatBot | Remove | PassHost | ChangeSettings | Start) -> Decision:
    if isinstance(order, Start):
        return _start(table)
    if table.quick_min is not None:
        return Refusal("quick-match-filling")
    match order:
        case SeatBot():
            seat = _seat_for(table, order.seat)
            return seat if isinstance(seat, Refusal) else (BotSeated(seat, order.player, order.level),)
        case Remove():
            return _remove(table, order)
        case PassHost():
            return _pass_host(table, order)
        case ChangeSettings():
            return _change(table, order.settings)
        case _:
            assert_never(order)


def _join(table: Table, order: Join, actor: str) -> Decision:
    if table.seat_of(actor) is not None:
        return Refusal("already-seated", {"seat": table.seat_of(actor)})
    if table.settings.visibility == "private" and order.invite_hash != table.settings.invite_hash:
        return Refusal("invite-code-wrong")
    seat = _seat_for(table, order.seat)
    if isinstance(seat, Refusal):
        return seat
    joined = PlayerJoined(seat, actor, order.seed)
    starts = order.starts or table.quick_min is not None
    if starts and table.free == [seat] and table.commitment is not None:
        # In one step: nobody can leave a table that quick match has filled without its match having begun.
        return joined, MatchRequested(table.commitment.match)
    return (joined,)


def _seat_for(table: Table, wanted: int | None) -> int | Refusal:
    """Return the free seat that somebody gets who wants that one, or any."""
    free = table.free
    if wanted is not None and not 0 <= wanted < len(table.seats):
        return Refusal("no-such-seat", {"seats": len(table.seats)})
    if not free:
        return Refusal("table-full")
    if wanted is not None and wanted not in free:
        return Refusal("seat-taken", {"free": free})
    return free[0] if wanted is None else wanted


def _remove(table: Table, order: Remove) -> Decision:
    if not 0 <= order.seat < len(table.seats):
        return Refusal("no-such-seat", {"seats": len(table.seats)})
    if table.seats[order.seat] is None:
        return Refusal("seat-free")
    return _vacate(table, order.seat, "removed")


def _vacate(table: Table, seat: int, reason: Literal["left", "removed"]) -> Facts:
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


def _pass_host(table: Table, order: PassHost) -> Decision:
    people = [seat.player for seat in table.seated if seat.bot is None and seat.player != table.host]
    if order.player not in people:
        return Refusal("host-unfit", {"players": people})
    return (HostPassed(order.player),)


def _change(table: Table, settings: Settings) -> Decision:
    in_use = [
        number for number, seat in enumerate(table.seats) if seat is not None and number >= settings.seats
    ]
    if in_use:
        return Refusal("seats-in-use", {"seats": in_use})
    return (_changed(replace(settings, rated=settings.rated and not table.bot_sat)),)  # CP-9.1


def _start(table: Table) -> Decision:
    if table.quick_min is not None:
        return _start_quick(table, StartQuick())
    if table.free:
        return Refusal("seats-empty", {"free": table.free})
    if table.commitment is None:
        return Refusal("unavailable")
    return (MatchRequested(table.commitment.match),)


def _start_quick(table: Table, order: StartQuick) -> Decision:
    """Close the gaps, fill up with bots what the game needs, take the other seats away, and start."""
    if table.quick_min is None or table.commitment is None:
        return Refusal("unavailable")
    people = [(number, seat) for number, seat in enumerate(table.seats) if seat is not None]
    bots = order.bots[: max(0, table.quick_min - len(people))]
    if len(people) + len(bots) < table.quick_min:
        return Refusal("seats-empty", {"free": table.free})
    facts: list[TableFact] = [
        PlayerMoved(number, seat.player, to) for to, (number, seat) in enumerate(people) if number != to
    ]
    facts += [BotSeated(len(people) + at, bot, order.level) for at, bot in enumerate(bots)]
    taken = len(people) + len(bots)
    if taken < len(table.seats):
        facts.append(_changed(replace(table.settings, seats=taken)))
    return *facts, MatchRequested(table.commitment.match)


def _finish(table: Table, order: Finish) -> Decision:
    if table.state != "playing" or table.match != order.match:
        return Refusal("match-over")
    facts: list[TableFact] = [MatchFinished(order.match)]
    after = evolve(table, facts[0])
    for seat in order.left:
        if after.state == "open":
            for fact in _vacate(after, seat, "left"):
                facts.append(fact)
                after = evolve(after, fact)
    if after.state == "open":
        facts.append(TableClosed("operator") if order.commitment is None else _published(order.commitment))
    return tuple(facts)


def _changed(settings: Settings) -> SettingsChanged:
    return SettingsChanged(
        options=settings.options,
        seats=settings.seats,
        turn_seconds=settings.turn_seconds,
        visibility=settings.visibility,
        rated=settings.rated,
        invite_hash=settings.invite_hash,
    )


def _published(commitment: Commitment) -> CommitmentPublished:
    return CommitmentPublished(commitment.match, commitment.commitment, commitment.number)
