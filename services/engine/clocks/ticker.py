"""Looks for clocks that have run out, and has the player eliminated."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import asyncpg
from msgspec import Struct

from services.contracts.ids import log_of
from services.engine.clocks.absences import Absences
from services.engine.play.counts import Counts
from services.engine.play.moves import Moves
from services.engine.play.pulse import Pulse
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.log import LogUnavailableError

TICK_SECONDS: Final = 0.25
DUE_MAX: Final = 200
"""The most expiries of one tick; the next tick takes the rest."""
TROUBLED_SECONDS: Final = 30.0
"""How long a match is left alone whose clock could not be dealt with."""

_DUE: Final = """
select match, seat, since_ms, $1 - due_ms - outage_ms as late_ms
from macao_engine.clocks c, lateral (
    select coalesce(sum(to_ms - greatest(from_ms, c.since_ms)), 0)::bigint as outage_ms
    from macao_engine.outages where to_ms > c.since_ms
) given_back
where due_ms <= $1 and due_ms + outage_ms <= $1 and split_part(match, '.', 1) <> all ($3::text[])
    and match <> all ($4::text[])
order by due_ms
limit $2
"""

AWAY: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)

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
        self,
        database: Database,
        pulse: Pulse,
        moves: Moves,
        clock: Clock,
        counts: Counts | None = None,
        absences: Absences | None = None,
    ) -> None:
        """Expire matches through their moves; without ``absences`` there is one log."""
        self._database = database
        self._pulse = pulse
        self._moves = moves
        self._clock = clock
        self._counts = counts
        self._absences = absences
        self._troubled: dict[str, float] = {}

    async def run(self) -> None:
        """Tick until cancelled; a database that is away is waited for, and its absence is charged to nobody."""
        try:
            while True:
                try:
                    await self.tick()
                except AWAY as error:
                    _logger.warning("clocks stand still: %r", error)
                await asyncio.sleep(TICK_SECONDS)
        finally:
            if self._absences is not None:
                self._absences.close()

    async def tick(self) -> None:
        """Beat, then expire what is due. The beat comes first: it gives back the time of an outage."""
        await self._pulse.beat()
        away = [] if self._absences is None else await self._absences.look()
        by_log: dict[str, list[Expired]] = {}
        for expired in await self.due(away):
            by_log.setdefault(log_of(expired.match), []).append(expired)
        await asyncio.gather(*(self._expire(of_log) for of_log in by_log.values()))

    async def _expire(self, of_log: Sequence[Expired]) -> None:
        """Expire matches of one log, as long as it takes them."""
        for expired in of_log:
            try:
                if await self._moves.expire(expired.match, expired.seat, expired.since_ms) and self._counts:
                    self._counts.expired(expired.late_ms)
            except (LogUnavailableError, *AWAY) as error:
                _logger.warning("the clock of %s could not be recorded yet: %r", expired.match, error)
                return
            except Exception:
                # This match is damaged, or the log refuses its events: for the operator to mend; the others go on.
                _logger.exception("the clock of %s cannot be dealt with", expired.match)
                self._troubled[expired.match] = asyncio.get_running_loop().time() + TROUBLED_SECONDS

    async def due(self, away: Sequence[str] = ()) -> list[Expired]:
        """Return clocks that have run out, the oldest first; none of matches whose ids begin like one of ``away``.

        Nor of those that made trouble lately: they would stand in front of all others.
        """
        now = asyncio.get_running_loop().time()
        self._troubled = {match: until for match, until in self._troubled.items() if until > now}
        rows = await self._database.pool.fetch(
            _DUE, self._clock.now_ms(), DUE_MAX, list(away), list(self._troubled)
        )
        return [Expired(*row) for row in rows]
