"""The lobby, wired."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from litestar import Router

from services.lobby.engine import Engine
from services.lobby.http import players, quick_match, seats, tables, tokens
from services.lobby.http.documentation import documentation
from services.lobby.players.accounts import Accounts
from services.lobby.players.answers import Answers
from services.lobby.players.guests import Guests
from services.lobby.players.leaving import Leaving
from services.lobby.players.limits import PlayerLimits
from services.lobby.players.passwords import Passwords
from services.lobby.players.sessions import Sessions
from services.lobby.tables import board as boards
from services.lobby.tables.board import Board
from services.lobby.tables.bot_matches import BotMatches
from services.lobby.tables.bots import Bots
from services.lobby.tables.desk import Desk
from services.lobby.tables.filling import Filling
from services.lobby.tables.idle import Idle
from services.lobby.tables.keeper import LOBBY, Keeper
from services.lobby.tables.quick import QuickMatch
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.views import TableViews
from services.runtime.peer import Peer
from services.runtime.service import Service
from services.runtime.subscription import Subscription
from services.runtime.tasks import end

if TYPE_CHECKING:
    from services.runtime.platform import Platform


def service(platform: Platform) -> Service:
    """Build the lobby over a platform that is not open yet."""
    peer = Peer(platform, service=LOBBY, url=platform.settings.engine_url)
    engine = Engine(peer)
    streams = TableStreams(platform.log, platform.clock)
    desk = Desk(platform.log, streams, engine, platform.vault, platform.clock, platform.entropy)
    board = Board(platform.database)
    keeper = Keeper(desk, streams, engine, board, platform.players)
    views = TableViews(platform.players, desk)
    bots = Bots(platform.database, platform.players)
    bot_matches = BotMatches(platform.database, streams, platform.settings.bot_matches_per_player)
    quick = QuickMatch(
        platform.database, desk, streams, engine, board, bot_matches, platform.bell, platform.clock
    )
    idle = Idle(board, streams, platform.clock, platform.settings.idle_table_hours)
    filling = Filling(platform.database, board, desk, bots, keeper, quick, platform.clock)
    answers = Answers(platform.database, platform.vault, platform.clock)
    passwords = Passwords()
    guests = Guests(
        platform.database, platform.players, platform.tokens, answers, platform.clock, platform.entropy
    )
    accounts = Accounts(platform.database, platform.players, platform.tokens, answers, passwords)
    sessions = Sessions(platform.database, platform.tokens, answers)
    leaving = Leaving(
        platform.tokens, platform.players, desk, keeper, streams, platform.database, platform.clock
    )
    limits = PlayerLimits.of(platform.settings)
    subscription = Subscription(
        platform.database,
        platform.log,
        platform.bell,
        boards.NAME,
        boards.VERSION,
        board.apply,
        forget=board.forget,
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await answers.check_keys()
            await stack.enter_async_context(passwords.working())
            await stack.enter_async_context(peer)
            follower = asyncio.create_task(subscription.run(), name=boards.NAME)
            stack.push_async_callback(end, follower)
            await stack.enter_async_context(keeper.working())
            await stack.enter_async_context(filling.working())
            await stack.enter_async_context(idle.working())
            yield

    router = Router(
        "/v1",
        route_handlers=[
            players.create_player, players.get_me, players.add_credential, players.change_password,
            players.erase_me,
            tokens.sign_in, tokens.refresh_token, tokens.log_out,
            tokens.make_token, tokens.list_tokens, tokens.revoke_token,
            tables.open_table, tables.list_tables, tables.get_table, tables.change_table, tables.start_table,
            tables.stream_table, quick_match.quick_match,
            seats.join_table, seats.leave_table, seats.give_seed, seats.seat_bot, seats.pass_host,
            seats.remove_player,
        ],
    )  # fmt: skip
    return Service(
        LOBBY,
        (router,),
        provides=(
            guests,
            accounts,
            sessions,
            leaving,
            limits,
            desk,
            board,
            keeper,
            streams,
            views,
            bots,
            bot_matches,
            idle,
            quick,
        ),
        lifespan=lifespan,
        checks={"engine": peer.ready},
        documentation=documentation,
    )
