"""Tables: open, look, follow, change, start."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final, Literal, cast

import msgspec
from litestar import Response, get, patch, post
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from services.lobby.http.answers import (
    SEATS_MAX,
    WRITES,
    Cause,
    after_the_match,
    answer,
    carried_out,
    headers_of,
)
from services.lobby.tables.board import Board
from services.lobby.tables.bot_matches import BotMatches, has_bots
from services.lobby.tables.clerk import Done
from services.lobby.tables.deciding import Refusal, decide
from services.lobby.tables.desk import Desk, Wanted
from services.lobby.tables.keeper import Keeper
from services.lobby.tables.orders import Order, Start
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.lobby.tables.table_stream import TableSource
from services.lobby.tables.views import TablePage, TableView, TableViews
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.conditions import etag
from services.runtime.web.operations import MADE, VERSIONED, Conditional, Keyed
from services.runtime.web.paging import Cursor, Id, cursor_of, key_of
from services.runtime.web.problems import Problem
from services.runtime.web.reading import PRIVATE, unchanged
from services.runtime.web.reading import answer as read_answer
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals
from services.runtime.web.streams import VERSION_MAX, EventStream, event_stream

PAGE_MAX: Final = 100

SeatCount = Annotated[int, Meta(ge=1, le=SEATS_MAX)]

_encode: Final = msgspec.json.Encoder().encode


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


class StartedMatch(Struct, frozen=True):
    """The match that runs now."""

    match_id: str


@post(
    "/tables",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="open_table",
    operation_class=Keyed,
    opt=MADE,
    summary="Open a table",
    responses=refusals(*WRITES, "unknown-game", "options-invalid", "seats-invalid", "unavailable"),
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
    return await answer(request, done, caller.player, {"Location": f"/v1/tables/{done.table.id}"})


@get(
    "/tables",
    tags=["tables"],
    operation_id="list_tables",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    summary="List public tables",
)
async def list_tables(
    request: Request,
    game: Annotated[str | None, QueryParameter(max_length=64, pattern=r"^[^\x00]*$")] = None,
    wanted_state: Annotated[Literal["open", "playing", "closed"], QueryParameter(name="state")] = "open",
    cursor: Cursor = None,
    limit: Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)] = 20,
) -> Response[TablePage]:
    """Return public tables, the newest first."""
    before = None if cursor is None else key_of(cursor, tuple[Id])[0]
    if game is not None and "\0" in game:
        raise Problem("malformed-request", "No game has such a name.")  # and PostgreSQL cannot hold it
    board = request.the(Board)
    tables = await board.page(game=game, state=wanted_state, before=before, limit=limit + 1)
    caller = await request.caller()
    items = await request.the(TableViews).views(tables[:limit], caller.player)
    page = TablePage(items, cursor_of((items[-1].id,)) if len(tables) > limit else None)
    return read_answer(request, page, PRIVATE)


@get(
    "/tables/{table_id:str}",
    tags=["tables"],
    operation_id="get_table",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    summary="Look at a table",
    responses=refusals("not-found"),
)
async def get_table(request: Request, table_id: FromPath[str]) -> Response[TableView]:
    """Return a table as it stands."""
    caller = await request.caller()
    table = await request.the(Desk).find(table_id)
    known = unchanged(request, etag(table.version), PRIVATE)
    if known is not None:
        return cast("Response[TableView]", known)
    return await answer(request, Done(table), caller.player)


@patch(
    "/tables/{table_id:str}",
    guards=[needs("play")],
    tags=["tables"],
    operation_id="change_table",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Change the settings",
    responses=refusals(
        *WRITES,
        "not-host",
        "quick-match-filling",
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
    """Change settings while no match is running. For the host. Matches by house rules or with a bot are not rated."""
    caller = await request.caller()
    attempt = partial(
        request.the(Desk).change,
        table_id,
        Wanted(_raw(data.options), data.seats, data.turn_seconds, data.visibility, data.rated),
        actor=caller.player,
        command=await request.command(),
        cause=Cause("change", wanted=data),
    )
    done = await after_the_match(request, table_id, attempt)
    return await answer(request, done, caller.player)


@post(
    "/tables/{table_id:str}/start",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="start_table",
    operation_class=Keyed,
    opt=VERSIONED,
    summary="Start the match",
    responses=refusals(
        *WRITES,
        "not-host",
        "seats-empty",
        "match-running",
        "table-closed",
        "unavailable",
        "unknown-game",
        "seats-invalid",
        "options-invalid",
        "bot-matches-many",
    ),
)
async def start_table(request: Request, table_id: FromPath[str]) -> Response[StartedMatch]:
    """Start the match when every seat is taken; after its end, start the next. For the host.

    At a table of quick match the host need not wait until it starts by itself, once enough players are there.

    A table that was opened under older rules may have become one that the rules of today refuse: change it.

    With a bot at the table it is refused (``bot-matches-many``) while the caller has as many matches with bots running
    as one player may have.

    On ``unavailable`` the match starts nevertheless, as soon as the engine answers; a retry tells.
    """
    caller = await request.caller()
    bot_matches = request.the(BotMatches)

    async def plan(table: Table) -> Order:
        if has_bots(table) and not isinstance(decide(table, Start(), caller.player), Refusal):
            await bot_matches.check(caller.player)
        return Start()

    async with bot_matches.one_at_a_time(caller.player):
        done = await carried_out(request, table_id, plan, Cause("start"))
    await request.the(Keeper).begin(done.table)
    return Response(StartedMatch(done.table.match or ""), headers=headers_of(done))


@get(
    "/tables/{table_id:str}/stream",
    tags=["tables"],
    operation_id="stream_table",
    security=OPTIONAL_TOKEN,
    summary="Follow a table",
    media_type="text/event-stream",
    responses=refusals("not-found", "too-many-streams"),
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


def _raw(options: dict[str, Any] | UnsetType) -> Raw | UnsetType:
    return UNSET if options is UNSET else Raw(_encode(options))
