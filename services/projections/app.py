"""The wiring of the projections: which there are, who asks them, what keeps them running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from litestar import Router

from services.contracts.envelope import Recorded
from services.projections import health
from services.projections.board import fold as board_fold
from services.projections.board import http as board_http
from services.projections.board.stream import BELL, BoardStream
from services.projections.board.tables import Board
from services.projections.following import Follower, follow
from services.projections.history import http as history_http
from services.projections.history.tables import History
from services.projections.leaderboards import http as leaderboards_http
from services.projections.leaderboards.ranks import Ranks
from services.projections.leaderboards.tables import Leaderboards
from services.projections.leaderboards.writer import RatingsWriter
from services.projections.records import http as records_http
from services.projections.records.tables import Records
from services.runtime.platform import Platform
from services.runtime.service import Service


def service(platform: Platform) -> Service:
    """Wire the projections onto a platform."""
    board, leaderboards, history, records = Board(), Leaderboards(), History(), Records()
    stream = BoardStream(platform, board)
    ratings = RatingsWriter(platform, leaderboards)

    def board_committed(page: list[Recorded]) -> None:
        if any(recorded.event.type in board_fold.TYPES for recorded in page):
            position = page[-1].position
            platform.bell.ring(position, [(BELL, position)])

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        followers = (
            Follower(platform, board, board_committed),
            Follower(platform, leaderboards, ratings.look),
            Follower(platform, history),
            Follower(platform, records),
        )
        tasks = [asyncio.create_task(follow(follower)) for follower in followers]
        tasks.append(asyncio.create_task(stream.watch()))
        tasks.append(asyncio.create_task(ratings.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def check() -> None:
        # A projection that has stopped or is behind still answers, from what it has: that shows in
        # /v1/projections and is no reason to send readers elsewhere.
        for projection in (board, leaderboards, history, records):
            await health.health_of(platform, projection)

    return Service(
        name="projections",
        routers=(
            Router(
                "/v1", tags=["lobby board"], route_handlers=[board_http.get_lobby, board_http.stream_lobby]
            ),
            Router(
                "/v1",
                tags=["leaderboards"],
                route_handlers=[leaderboards_http.get_leaderboard, leaderboards_http.get_standing],
            ),
            Router(
                "/v1",
                tags=["history"],
                route_handlers=[history_http.list_matches, history_http.get_statistics],
            ),
            Router(
                "/v1",
                tags=["records"],
                route_handlers=[records_http.list_records, records_http.list_records_of_game],
            ),
            Router("/v1", tags=["projections"], route_handlers=[health.list_projections]),
        ),
        provides=(
            board,
            leaderboards,
            Ranks(leaderboards),
            history,
            records,
            stream,
            health.Projections((board, leaderboards, history, records)),
        ),
        lifespan=running,
        checks={"projections": check},
    )
