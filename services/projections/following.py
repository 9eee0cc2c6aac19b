"""How the log gets into a projection: a subscription by the projection's name, at the version of its tables."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.projections.projection import Projection
from services.projections.rebuilds import Reason, Rebuilds
from services.runtime.log import Page
from services.runtime.platform import Platform
from services.runtime.subscription import State, Subscription

Committed: TypeAlias = "Callable[[list[Recorded]], None]"

AGAIN_SECONDS: Final = 1.0
"""How long a follower rests that ended by an error which it did not expect."""

REPAIR_SECONDS: Final = 1.0
"""How often a follower that has stopped looks whether its tables were built anew."""

_logger: Final = logging.getLogger(__name__)

_VERSIONS = "SELECT version FROM {log}.subscriptions WHERE name = $1"
_GENERATION = "SELECT max(generation) FROM {log}.subscriptions WHERE name = $1 AND version = $2"
_RESET = "DELETE FROM {log}.subscriptions WHERE name = $1 AND version = $2"
_RESET_LETTERS = "DELETE FROM {log}.dead_letters WHERE name = $1 AND version = $2"


class Follower(Subscription):
    """A subscription that tells of each page once it is committed: only then can anybody else see what it did.

    An event that it cannot work off parks its stream. Tables of an older version are not touched: they serve while
    those of this version are built, and the follower goes on when they have taken over.
    """

    def __init__(
        self,
        platform: Platform,
        projection: Projection,
        committed: Committed | None = None,
        *,
        slice: int = 0,
    ) -> None:
        super().__init__(
            platform.database,
            platform.log,
            platform.bell,
            projection.NAME,
            projection.VERSION,
            projection.apply,
            slice=slice,
            slices=projection.SLICES,
            parks=True,
        )
        self._committed = committed
        self._schema = platform.log.schema
        self._rebuilds = Rebuilds(platform.log.schema)

    async def mended(self) -> None:
        """Return when tables built anew have taken over; where the log has lost events, that is asked for.

        What the state says meanwhile is no matter: another process may be trying in its turn.
        """
        pool = self._database.pool
        sql = _GENERATION.replace("{log}", self._schema)
        before = await pool.fetchval(sql, self._name, self._version)
        if self.status.state is State.LOST_TAIL:
            await self._rebuilds.request(pool, self._name, self._version, Reason.LOST_TAIL)
        while True:
            await asyncio.sleep(REPAIR_SECONDS)
            if await pool.fetchval(sql, self._name, self._version) != before:
                return

    async def _may_lead(self, connection: Connection[Any]) -> bool:
        rows = await connection.fetch(_VERSIONS.replace("{log}", self._schema), self._name)
        versions = {row[0] for row in rows}
        if not versions or self._version in versions:
            return True
        if max(versions) > self._version:
            self._last_error = f"version {max(versions)} serves, which is newer than this service"
        else:
            self._last_error = f"version {max(versions)} serves until version {self._version} is built"
            await self._rebuilds.request(connection, self._name, self._version, Reason.VERSION)
        return False

    async def _commit(self, connection: Connection[Any], page: Page) -> None:
        await super()._commit(connection, page)
        if self._committed is not None and page.events:
            self._committed(page.events)


async def follow(follower: Follower) -> None:
    """Keep a follower going until cancelled; one that has stopped goes on when its tables were built anew.

    An error that it does not know how to deal with is logged, and it begins again from its checkpoint: a
    projection must not stay behind unnoticed because of a broken connection of a kind that nobody thought of.
    """
    while True:
        try:
            await follower.run()
            await follower.mended()
        except Exception:
            _logger.exception("the follower of %s ended; it begins again", follower.status.name)
            await asyncio.sleep(AGAIN_SECONDS)


async def reset(connection: Connection[Any], projection: Projection, log: str = "macao_log") -> None:
    """Empty a projection and forget how far it had come, so that its follower begins at the first event.

    For projections that nobody reads at that moment; ``rebuilding`` does it while they serve.
    """
    async with connection.transaction():
        await connection.execute(_RESET.replace("{log}", log), projection.NAME, projection.VERSION)
        await connection.execute(_RESET_LETTERS.replace("{log}", log), projection.NAME, projection.VERSION)
        await projection.clear(connection)
