"""The wiring of the projections: which there are, who asks them, what keeps them running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from litestar import Router

from services.contracts.envelope import Recorded
from services.projections import http
from services.projections.board import fold as board_fold
from services.projections.board import http as board_http
from services.projections.board.stream import BELL, BoardStream
from services.projections.board.tables import Board
from services.projections.builders import Builders
from services.projections.catalogue import PROJECTIONS
from services.projections.documentation import documentation
from services.projections.following import Follower, follow
from services.projections.gauges import ProjectionGauges
from services.projections.health import health_of
from services.projections.history import http as history_http
from services.projections.leaderboards import http as leaderboards_http
from services.projections.leaderboards.ranks import Ranks
from services.projections.leaderboards.tables import Leaderboards
from services.projections.leaderboards.writer import RatingsWriter
from services.projections.projection import Projection
from services.projections.records import http as records_http
from services.runtime.platform import Platform
from services.runtime.service import NotReadyError, Service
from services.runtime.tasks import end


def service(platform: Platform) -> Service:
    """Wire the projections onto a platform."""
    projections = [kind() for kind in PROJECTIONS]
    board = next(one for one in projections if isinstance(one, Board))
    leaderboards = next(one for one in projections if isinstance(one, Leaderboards))
    stream = BoardStream(platform, board)
    ratings = RatingsWriter(platform, leaderboards)

    def committed(page: list[Recorded]) -> None:
        if any(recorded.event.type in board_fold.TYPES for recorded in page):
            position = page[-1].position
            platform.bell.ring(position, [(BELL, position)])

    def switched(projection: Projection, position: int) -> None:
        if projection is board:
            platform.bell.ring(position, [(BELL, position)])

    builders = Builders(platform, projections, switched)

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        told = {board.NAME: committed, leaderboards.NAME: ratings.look}
        followers = [
            Follower(platform, projection, told.get(projection.NAME), slice=slice_)
            for projection in projections
            for slice_ in range(projection.SLICES)
        ]
        tasks = [asyncio.create_task(follow(follower)) for follower in followers]
        tasks += [
            asyncio.create_task(stream.watch()),
            asyncio.create_task(builders.run()),
            asyncio.create_task(ratings.run()),
        ]
        try:
            yield
        finally:
            await end(*tasks)

    async def check() -> str:
        # One that is behind, leaves a stream out or is being built anew still answers, from what it has. One that has
        # stopped shows what was, for ever: readers are better off elsewhere.
        async with platform.database.pool.acquire() as connection:
            found = [await health_of(connection, platform.log, one) for one in projections]
        remarks = "; ".join(health.remark for health in found if health.remark)
        if any(health.state == "stopped" for health in found):
            raise NotReadyError(remarks)
        return remarks

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
            Router(
                "/v1",
                tags=["projections"],
                route_handlers=[http.list_projections, http.rebuild_projection, http.release_projection],
            ),
        ),
        provides=(*projections, Ranks(leaderboards), stream, http.Projections(projections)),
        lifespan=running,
        checks={"projections": check},
        refresh=ProjectionGauges(platform, projections).refresh,
        documentation=documentation,
    )
