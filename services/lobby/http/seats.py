"""Seats: sit down, stand up, give a seed; and what the host decides about them."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, delete, post, put
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from services.lobby.http.answers import (
    SEATS_MAX,
    WRITES,
    Cause,
    SeatNumber,
    Seed,
    act,
    answer,
    begin,
    carried_out,
    checked_seed,
)
from services.lobby.tables.bots import Bots
from services.lobby.tables.deciding import Refusal, decide
from services.lobby.tables.desk import hash_of
from services.lobby.tables.orders import GiveSeed, Join, Leave, Order, PassHost, Remove, SeatBot
from services.lobby.tables.table import Level, Table
from services.lobby.tables.views import TableView
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.operations import VERSIONED, Keyed
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals


class JoinRequest(Body, frozen=True):
    """Where to sit (anywhere, if not given), the code of a private table, an own seed for the chance."""

    seat: SeatNumber | None = None
    invite_code: Annotated[str, Meta(max_length=64)] | None = None
    seed: Seed | None = None


class SeedRequest(Body, frozen=True):
    """The own seed for the chance of the next match."""

    seed: Seed


class BotRequest(Body, frozen=True):
    """A bot: how well it plays, and where it sits (anywhere, if not given)."""

    level: Level
    seat: SeatNumber | None = None


class HostRequest(Body, frozen=True):
    """Who is to be the host: a person who sits at the table."""

    player: Annotated[str, Meta(max_length=64)]


@post(
    "/tables/{table_id:str}/join",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="join_table",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Sit down",
    responses=refusals(
        *WRITES, "already-seated", "seat-taken", "table-full", "no-such-seat", "invite-code-wrong", "seed-invalid",
        "match-running", "table-closed",
    ),
)  # fmt: skip
async def join_table(
    request: Request, table_id: FromPath[str], data: JSONBody[JoinRequest]
) -> Response[TableView]:
    """Take a free seat. A body is needed, ``{}`` at least. The last seat of a quick-match table starts its match."""
    seed = await checked_seed(request, data.seed)
    code = None if data.invite_code is None else hash_of(data.invite_code)
    order = Join(data.seat, seed, code)
    done = await carried_out(request, table_id, order, Cause("join", seat=data.seat, seed=data.seed))
    await begin(request, done)
    return await answer(request, done, (await request.caller()).player)


@post(
    "/tables/{table_id:str}/leave",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="leave_table",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Stand up",
    responses=refusals(*WRITES, "not-seated", "match-running", "table-closed"),
)
async def leave_table(request: Request, table_id: FromPath[str]) -> Response[TableView]:
    """Free the own seat. If the host leaves, the next person clockwise is the host; the last person closes the table.

    While a match is running, leave the match instead; the seat at the table is then free when it is over.
    """
    return await act(request, table_id, Leave(), Cause("leave"))


@put(
    "/tables/{table_id:str}/seed",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="give_seed",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Add an own seed",
    responses=refusals(*WRITES, "seed-invalid", "not-seated", "match-running", "table-closed"),
)
async def give_seed(
    request: Request, table_id: FromPath[str], data: JSONBody[SeedRequest]
) -> Response[TableView]:
    """Give or change the own contribution to the chance of the next match; it counts for one match."""
    seed = await checked_seed(request, data.seed)
    return await act(request, table_id, GiveSeed(seed), Cause("seed", seed=seed))


@post(
    "/tables/{table_id:str}/bots",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="seat_bot",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Sit a bot down",
    responses=refusals(
        *WRITES, "not-host", "seat-taken", "table-full", "no-such-seat", "quick-match-filling", "match-running",
        "table-closed",
    ),
)  # fmt: skip
async def seat_bot(
    request: Request, table_id: FromPath[str], data: JSONBody[BotRequest]
) -> Response[TableView]:
    """Let a bot take a free seat. For the host. Matches with a bot are not rated.

    ``DELETE /v1/tables/{id}/seats/{seat}`` sends it away again.
    """
    caller, command, platform = await request.caller(), await request.command(), request.platform
    at_ms = platform.clock.now_ms()

    async def plan(table: Table) -> Order:
        order = SeatBot("", data.level, data.seat)
        if isinstance(decide(table, order, caller.player), Refusal):
            return order
        bot = await request.the(Bots).make(command.id, at_ms, table)
        return SeatBot(bot, data.level, data.seat)

    return await act(request, table_id, plan, Cause("bot", seat=data.seat, level=data.level))


@post(
    "/tables/{table_id:str}/host",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="pass_host",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Hand the table over",
    responses=refusals(
        *WRITES, "not-host", "host-unfit", "quick-match-filling", "match-running", "table-closed"
    ),
)
async def pass_host(
    request: Request, table_id: FromPath[str], data: JSONBody[HostRequest]
) -> Response[TableView]:
    """Make somebody else who sits at the table its host. For the host."""
    return await act(request, table_id, PassHost(data.player), Cause("host", player=data.player))


@delete(
    "/tables/{table_id:str}/seats/{seat:int}",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="remove_player",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Free a seat",
    responses=refusals(
        *WRITES,
        "not-host",
        "no-such-seat",
        "seat-free",
        "quick-match-filling",
        "match-running",
        "table-closed",
    ),
)
async def remove_player(
    request: Request, table_id: FromPath[str], seat: FromPath[int]
) -> Response[TableView]:
    """Remove whoever sits there, a player or a bot. For the host."""
    if not 0 <= seat < SEATS_MAX:
        raise Problem("no-such-seat")
    return await act(request, table_id, Remove(seat), Cause("remove", seat=seat))
