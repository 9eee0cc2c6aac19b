"""How the log gets into a projection: a subscription by the projection's name, at the version of its tables."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.projections.projection import Projection
from services.runtime.platform import Platform
from services.runtime.subscription import Subscription

Committed: TypeAlias = "Callable[[list[Recorded]], None]"

AGAIN_SECONDS: Final = 1.0
"""How long a follower rests that ended by an error which it did not expect."""

_logger: Final = logging.getLogger(__name__)

_RESET = "DELETE FROM {log}.subscriptions WHERE name = $1 AND version = $2"


class Follower(Subscription):
    """A subscription that tells of each page once it is committed: only then can anybody else see what it did."""

    def __init__(
        self, platform: Platform, projection: Projection, committed: Committed | None = None
    ) -> None:
        super().__init__(
            platform.database,
            platform.log,
            platform.bell,
            projection.NAME,
            projection.VERSION,
            projection.apply,
        )
        self._committed = committed

    async def _commit(self, connection: Connection[Any], page: list[Recorded]) -> None:
        await super()._commit(connection, page)
        if self._committed is not None:
            self._committed(page)


async def follow(follower: Follower) -> None:
    """Keep a follower going until cancelled, or until it has stopped for good and said so in its status.

    An error that it does not know how to deal with is logged, and it begins again from its checkpoint: a
    projection must not stay behind unnoticed because of a broken connection of a kind that nobody thought of.
    """
    while True:
        try:
            await follower.run()
        except Exception:
            _logger.exception("the follower of %s ended; it begins again", follower.status.name)
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return


async def reset(connection: Connection[Any], projection: Projection, log: str = "macao_log") -> None:
    """Empty a projection and forget how far it had come, so that its follower begins at the first event.

    For projections that nobody follows at that moment: a follower whose checkpoint is moved under it stops.
    """
    async with connection.transaction():
        await projection.clear(connection)
        await connection.execute(_RESET.replace("{log}", log), projection.NAME, projection.VERSION)
