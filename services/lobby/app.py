"""The lobby, wired."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from litestar import Router

from services.lobby.engine import Engine
from services.lobby.http import players, tables
from services.lobby.players.guests import Guests
from services.lobby.tables import board as boards
from services.lobby.tables.board import Board
from services.lobby.tables.desk import Desk
from services.lobby.tables.keeper import LOBBY, Keeper
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.views import TableViews
from services.runtime.peer import Peer
from services.runtime.service import Service
from services.runtime.subscription import Subscription

if TYPE_CHECKING:
    from services.runtime.platform import Platform


def service(platform: Platform) -> Service:
    """Build the lobby over a platform that is not open yet."""
    peer = Peer(platform, service=LOBBY, url=platform.settings.engine_url)
    engine = Engine(peer)
    streams = TableStreams(platform.log, platform.clock)
    desk = Desk(platform.log, streams, engine, platform.vault, platform.clock, platform.entropy)
    board = Board(platform.database)
    keeper = Keeper(desk, streams, engine, board)
    views = TableViews(platform.players, desk)
    guests = Guests(
        platform.database, platform.players, platform.tokens, platform.vault, platform.clock, platform.entropy
    )
    subscription = Subscription(
        platform.database, platform.log, platform.bell, boards.NAME, boards.VERSION, board.apply
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(peer)
            follower = asyncio.create_task(subscription.run(), name=boards.NAME)
            stack.push_async_callback(_ended, follower)
            await stack.enter_async_context(keeper.working())
            yield

    router = Router(
        "/v1",
        route_handlers=[
            players.create_player, players.get_me, players.refresh_token,
            tables.open_table, tables.list_tables, tables.get_table, tables.change_table, tables.join_table,
            tables.leave_table, tables.give_seed, tables.remove_player, tables.start_table, tables.stream_table,
        ],
    )  # fmt: skip
    return Service(
        LOBBY,
        (router,),
        provides=(guests, desk, board, keeper, streams, views),
        lifespan=lifespan,
        checks={"engine": peer.ready},
    )


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
