"""Tables: open, look, sit down, stand up, start."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import Response, delete, get, patch, post, put
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from services.contracts.ids import TABLE, is_id
from services.lobby.tables.board import Board
from services.lobby.tables.desk import Desk, Done, Wanted, hash_of
from services.lobby.tables.keeper import Keeper
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import NO_SEED, GiveSeed, Join, Leave, Order, Remove, Start
from services.lobby.tables.table_stream import TableSource
from services.lobby.tables.views import TablePage, TableView, TableViews
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.conditions import etag
from services.runtime.web.idempotency import REPLAYED
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals
from services.runtime.web.streams import VERSION_MAX, EventStream, event_stream

SEATS_MAX: Final = 64
SEED_MAX: Final = 64
PAGE_MAX: Final = 100

SeatCount = Annotated[int, Meta(ge=1, le=SEATS_MAX)]
SeatNumber = Annotated[int, Meta(ge=0, lt=SEATS_MAX)]
Seed = Annotated[str, Meta(max_length=1_000, description="1 to 64 characters from A-Z a-z 0-9 _ and -")]

_encode: Final = msgspec.json.Encoder().encode
_WRITES: Final = (
    "idempotency-key-missing",
    "idempotency-key-malformed",
    "idempotency-key-reused",
    "not-found",
)


class OpenRequest(Body, frozen=True):
    """A table to be opened. Options that are not given have the defaults of ``GET /v1/games/{game}``."""

    game: Annotated[str, Meta(max_length=64, examples=["dice-race"])]
    seats: SeatCount
    options: dict[str, Any] | UnsetType = UNSET
    turn_seconds: Literal[10, 30] | UnsetType | None = UNSET
    visibility: Literal["public", "private"] = "public"
    rated: bool = True


class ChangeRequest(Body, frozen=True):
    """Settings to be changed; what is not given stays. ``options`` replaces all options."""

    seats: SeatCount | UnsetType = UNSET
    options: dict[str, Any] | UnsetType = UNSET
    turn_seconds: Literal[10, 30] | UnsetType | None = UNSET
    visibility: Literal["public", "private"] | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


class JoinRequest(Body, frozen=True):
    """Where to sit (anywhere, if not given), the code of a private table, an own seed for the chance."""

    seat: SeatNumber | None = None
    invite_code: Annotated[str, Meta(max_length=64)] | None = None
    seed: Seed | None = None


class SeedRequest(Body, frozen=True):
    """The own seed for the chance of the next match."""

    seed: Seed


class Started(Struct, frozen=True):
    """The match that runs now."""

    match_id: str


class Cause(Struct, frozen=True, omit_defaults=True):
    """What was asked for, as the table's stream keeps it; never the invitation code."""

    order: str
    seat: int | None = None
    seed: str | None = None
    wanted: Body | None = None


@post(
    "/tables",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="open_table",
    summary="Open a table",
    responses=refusals(*_WRITES, "unknown-game", "options-invalid", "seats-invalid", "unavailable"),
)
async def open_table(request: Request, data: JSONBody[OpenRequest]) -> Response[TableView]:
    """Open a table and sit down on its seat 0, as its host. The commitment to the first match's chance is published.

    A private table is not listed, and joining it takes its ``invite_code``, which the host alone sees. Who has
    the id of a table may look at it.
    """
    caller = await request.caller()
    done = await request.the(Desk).open(
        data.game,
        data.seats,
        Wanted(_raw(data.options), data.seats, data.turn_seconds, data.visibility, data.rated),
        player=caller.player,
        command=await request.command(),
        cause=Cause("open", wanted=data),
    )
    return await _answer(request, done, caller.player, {"Location": f"/v1/tables/{done.table.id}"})


@get("/tables", tags=["tables"], operation_id="list_tables", summary="List public tables")
async def list_tables(
    request: Request,
    game: Annotated[str | None, QueryParameter(max_length=64)] = None,
    wanted_state: Annotated[Literal["open", "playing", "closed"], QueryParameter(name="state")] = "open",
    cursor: Annotated[
        str | None, QueryParameter(max_length=128, description="``next`` of the page before.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)] = 20,
) -> TablePage:
    """Return public tables, the newest first."""
    before = _table_in(cursor)
    board = request.the(Board)
    tables = await board.page(game=game, state=wanted_state, before=before, limit=limit + 1)
    caller = await request.caller()
    items = await request.the(TableViews).views(tables[:limit], caller.player)
    return TablePage(items, _cursor(items[-1].id) if len(tables) > limit else None)


@get(
    "/tables/{table_id:str}",
    tags=["tables"],
    operation_id="get_table",
    summary="Look at a table",
    responses=refusals("not-found"),
)
async def get_table(request: Request, table_id: FromPath[str]) -> Response[TableView]:
    """Return a table as it stands."""
    caller = await request.caller()
    return await _answer(request, Done(await request.the(Desk).find(table_id)), caller.player)


@patch(
    "/tables/{table_id:str}",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="change_table",
    summary="Change the settings",
    responses=refusals(
        *_WRITES,
        "not-host",
        "match-running",
        "table-closed",
        "seats-in-use",
        "options-invalid",
        "seats-invalid",
    ),
)
async def change_table(
    request: Request, table_id: FromPath[str], data: JSONBody[ChangeRequest]
) -> Response[TableView]:
    """Change settings while no match is running. For the host."""
    caller = await request.caller()
    done = await request.the(Desk).change(
        table_id,
        Wanted(_raw(data.options), data.seats, data.turn_seconds, data.visibility, data.rated),
        actor=caller.player,
        command=await request.command(),
        cause=Cause("change", wanted=data),
    )
    return await _answer(request, done, caller.player)


@post(
    "/tables/{table_id:str}/join",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="join_table",
    summary="Sit down",
    responses=refusals(
        *_WRITES, "already-seated", "seat-taken", "table-full", "no-such-seat", "invite-code-wrong", "seed-invalid",
        "match-running", "table-closed",
    ),
)  # fmt: skip
async def join_table(
    request: Request, table_id: FromPath[str], data: JSONBody[JoinRequest]
) -> Response[TableView]:
    """Take a free seat. A body is needed, ``{}`` at least."""
    seed = NO_SEED if data.seed is None else _checked(data.seed)
    code = None if data.invite_code is None else hash_of(data.invite_code)
    cause = Cause("join", seat=data.seat, seed=data.seed)
    return await _act(request, table_id, Join(data.seat, seed, code), cause)


@post(
    "/tables/{table_id:str}/leave",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="leave_table",
    summary="Stand up",
    responses=refusals(*_WRITES, "not-seated", "match-running", "table-closed"),
)
async def leave_table(request: Request, table_id: FromPath[str]) -> Response[TableView]:
    """Free the own seat. The next player clockwise becomes the host, if the host leaves; the last one closes the table.

    While a match is running, leave the match instead; the table can be left when it is over.
    """
    return await _act(request, table_id, Leave(), Cause("leave"))


@put(
    "/tables/{table_id:str}/seed",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="give_seed",
    summary="Add an own seed",
    responses=refusals(*_WRITES, "seed-invalid", "not-seated", "match-running", "table-closed"),
)
async def give_seed(
    request: Request, table_id: FromPath[str], data: JSONBody[SeedRequest]
) -> Response[TableView]:
    """Give or change the own contribution to the chance of the next match; it counts for one match."""
    seed = _checked(data.seed)
    return await _act(request, table_id, GiveSeed(seed), Cause("seed", seed=seed))


@delete(
    "/tables/{table_id:str}/seats/{seat:int}",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="remove_player",
    summary="Free a seat",
    responses=refusals(*_WRITES, "not-host", "no-such-seat", "seat-free", "match-running", "table-closed"),
)
async def remove_player(
    request: Request, table_id: FromPath[str], seat: FromPath[int]
) -> Response[TableView]:
    """Remove whoever sits there. For the host."""
    if not 0 <= seat < SEATS_MAX:
        raise Problem("no-such-seat")
    return await _act(request, table_id, Remove(seat), Cause("remove", seat=seat))


@post(
    "/tables/{table_id:str}/start",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="start_table",
    summary="Start the match",
    responses=refusals(*_WRITES, "not-host", "seats-empty", "match-running", "table-closed", "unavailable"),
)
async def start_table(request: Request, table_id: FromPath[str]) -> Response[Started]:
    """Start the match when every seat is taken; after its end, start the next. For the host.

    On ``unavailable`` the match starts nevertheless, as soon as the engine answers; a retry tells.
    """
    caller = await request.caller()
    done = await request.the(Desk).act(
        table_id, Start(), actor=caller.player, command=await request.command(), cause=Cause("start")
    )
    await request.the(Keeper).begin(done.table)
    return Response(Started(done.table.match or ""), headers=_headers(done))


@get(
    "/tables/{table_id:str}/stream",
    tags=["tables"],
    operation_id="stream_table",
    summary="Follow a table",
    media_type="text/event-stream",
    responses=refusals("not-found"),
)
async def stream_table(
    request: Request,
    table_id: FromPath[str],
    after: Annotated[int | None, QueryParameter(ge=0, le=VERSION_MAX)] = None,
) -> EventStream:
    """Stream a table as server-sent events.

    ``snapshot`` is the whole table, at the version after which the client continues; each ``change`` tells an event
    and the table that it left; ``keep-alive`` tells the newest version every 15 seconds. Ids are versions:
    ``Last-Event-ID`` or ``after`` continues.
    """
    caller = await request.caller()
    table = await request.the(Desk).find(table_id)
    source = TableSource(table, caller.player, request.the(TableStreams), request.the(TableViews))
    return await event_stream(request, source, after)


async def _act(request: Request, table: str, order: Order, cause: Cause) -> Response[TableView]:
    caller = await request.caller()
    command = await request.command()
    done = await request.the(Desk).act(table, order, actor=caller.player, command=command, cause=cause)
    return await _answer(request, done, caller.player)


async def _answer(
    request: Request, done: Done, viewer: str, headers: dict[str, str] | None = None
) -> Response[TableView]:
    view = await request.the(TableViews).view(done.table, viewer)
    return Response(view, headers={**_headers(done), **(headers or {})})


def _headers(done: Done) -> dict[str, str]:
    headers = {"ETag": etag(done.table.version), "Cache-Control": "private, no-cache"}
    if done.replayed:
        headers[REPLAYED] = "true"
    return headers


def _checked(seed: str) -> str:
    if not 1 <= len(seed) <= SEED_MAX or not all(
        one.isascii() and (one.isalnum() or one in "_-") for one in seed
    ):
        raise Problem("seed-invalid")
    return seed


def _raw(options: dict[str, Any] | UnsetType) -> Raw | UnsetType:
    return UNSET if options is UNSET else Raw(_encode(options))


def _cursor(table: str) -> str:
    return urlsafe_b64encode(table.encode()).decode().rstrip("=")


def _table_in(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        table = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (Base64Error, ValueError):
        table = ""
    if not is_id(TABLE, table):
        raise Problem("malformed-request", "The cursor is not one that this list gave out.")
    return table
