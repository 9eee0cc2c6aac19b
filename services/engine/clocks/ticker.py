"""Looks for clocks that have run out, and has the player eliminated."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import asyncpg
from msgspec import Struct

from services.engine.play.counts import Counts
from services.engine.play.moves import Moves
from services.engine.play.pulse import Pulse
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.log import LogUnavailableError

TICK_SECONDS: Final = 0.25
DUE_MAX: Final = 200
"""The most expiries of one tick; the next tick takes the rest."""

_DUE: Final = """
select match, seat, since_ms, $1 - due_ms - outage_ms as late_ms
from macao_engine.clocks c, lateral (
    select coalesce(sum(to_ms - greatest(from_ms, c.since_ms)), 0)::bigint as outage_ms
    from macao_engine.outages where to_ms > c.since_ms
) given_back
where due_ms <= $1 and due_ms + outage_ms <= $1
order by due_ms
limit $2
"""

_logger: Final = logging.getLogger(__name__)


class Expired(Struct, frozen=True):
    """A clock that ran out: whose, since when it ran, and how long ago it ended."""

    match: str
    seat: int
    since_ms: int
    late_ms: int


class Ticker:
    """One in every engine process. Several may find the same clock: the log takes one expiry."""

    def __init__(
        self, database: Database, pulse: Pulse, moves: Moves, clock: Clock, counts: Counts | None = None
    ) -> None:
        """Expire matches through their moves."""
        self._database = database
        self._pulse = pulse
        self._moves = moves
        self._clock = clock
        self._counts = counts

    async def run(self) -> None:
        """Tick until cancelled; a database that is away is waited for, and its absence is charged to nobody."""
        while True:
            try:
                await self.tick()
            except (
                OSError,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                asyncpg.InternalClientError,
            ) as error:
                _logger.warning("clocks stand still: %r", error)
            await asyncio.sleep(TICK_SECONDS)

    async def tick(self) -> None:
        """Beat, then expire what is due. The beat comes first: it gives back the time of an outage."""
        await self._pulse.beat()
        for expired in await self.due():
            try:
                if await self._moves.expire(expired.match, expired.seat, expired.since_ms) and self._counts:
                    self._counts.expired(expired.late_ms)
            except LogUnavailableError as error:
                _logger.warning("the clock of %s could not be recorded yet: %r", expired.match, error)

    async def due(self) -> list[Expired]:
        """Return clocks that have run out, the oldest first."""
        rows = await self._database.pool.fetch(_DUE, self._clock.now_ms(), DUE_MAX)
        return [Expired(*row) for row in rows]
