"""``/v1/lobby``: the board by page, and live."""

from __future__ import annotations

from typing import Annotated, Literal

from litestar import Response, get
from litestar.params import QueryParameter
from msgspec import Struct

from services.projections.board.stream import BoardStream
from services.projections.board.tables import Board
from services.projections.board.view import TableOnBoard, tables_of
from services.projections.caching import answer
from services.projections.slugs import game_of
from services.runtime.web.operations import Conditional
from services.runtime.web.paging import PAGE_DEFAULT, Cursor, Id, Limit, cursor_of, key_of
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals
from services.runtime.web.streams import VERSION_MAX, EventStream, event_stream


class LobbyPage(Struct, frozen=True):
    """A page of the board, newest table first.

    Attributes:
        next: the cursor of the page behind this one, None on the last.
        position: of the log, up to which the board is worked out; ``/v1/lobby/stream?after=`` goes on from here.
    """

    items: list[TableOnBoard]
    next: str | None
    position: int


@get(
    "/lobby",
    operation_id="get_lobby",
    operation_class=Conditional,
    summary="The lobby board",
    responses=refusals("unknown-game"),
)
async def get_lobby(
    request: Request,
    game: Annotated[str | None, QueryParameter(description="Only tables of this game.")] = None,
    table_state: Annotated[
        Literal["open", "playing"] | None,
        QueryParameter(name="state", description="Only tables in this state."),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response[LobbyPage]:
    """Return the public tables that are open or playing."""
    before = None if cursor is None else key_of(cursor, tuple[Id])[0]
    platform, board = request.platform, request.the(Board)
    game = None if game is None else game_of(game)
    pool = platform.database.pool
    async with (
        pool.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        await board.hold(connection)
        position = await board.position(connection)
        found = await board.page(connection, game=game, state=table_state, before=before, limit=limit + 1)
    shown = found[:limit]
    following = cursor_of((shown[-1].id,)) if len(found) > limit else None
    return answer(request, LobbyPage(await tables_of(platform.players, shown), following, position))


@get(
    "/lobby/stream",
    operation_id="stream_lobby",
    security=OPTIONAL_TOKEN,
    summary="The lobby board, live",
    media_type="text/event-stream",
    responses=refusals("too-many-streams"),
)
async def stream_lobby(
    request: Request,
    after: Annotated[
        int | None, QueryParameter(ge=0, le=VERSION_MAX, description="Go on from this position of the log.")
    ] = None,
) -> EventStream:
    """Return the board as server-sent events: a snapshot first, then what changes."""
    return await event_stream(request, request.the(BoardStream).reader(), after)
