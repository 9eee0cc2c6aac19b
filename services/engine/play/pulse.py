"""The pulse of the service: by it we know when it was down, and nobody is charged for that time."""

from __future__ import annotations

from typing import Final

from services.runtime.clock import Clock
from services.runtime.database import Database

GAP_MS: Final = 3_000
"""Longer without a beat of any engine process, and the service counts as having been down."""

MEMORY_MS: Final = 600_000
"""How far back a process remembers outages; no clock runs for longer without them."""


class Pulse:
    """Beats for this process, and remembers the outages of the service."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Keep the pulse in a database."""
        self._database = database
        self._clock = clock
        self._outages: list[tuple[int, int]] = []

    async def beat(self) -> None:
        """Say that this process is alive, and learn of outages."""
        now_ms = self._clock.now_ms()
        async with self._database.pool.acquire() as connection:
            await connection.execute("select macao_engine.beat($1, $2)", now_ms, GAP_MS)
            rows = await connection.fetch(
                "select from_ms, to_ms from macao_engine.outages where to_ms > $1 order by from_ms",
                now_ms - MEMORY_MS,
            )
        self._outages = [(row["from_ms"], row["to_ms"]) for row in rows]

    async def outages(self, from_ms: int, to_ms: int) -> list[tuple[int, int]]:
        """Return the outages of the service that touch a time, however long ago, in order."""
        rows = await self._database.pool.fetch(
            "select from_ms, to_ms from macao_engine.outages where to_ms > $1 and from_ms < $2 order by from_ms",
            from_ms,
            to_ms,
        )
        return [(row["from_ms"], row["to_ms"]) for row in rows]

    def down_since_ms(self, since_ms: int) -> int:
        """Return for how many milliseconds the service has been down since then."""
        return sum(to_ms - max(from_ms, since_ms) for from_ms, to_ms in self._outages if to_ms > since_ms)
