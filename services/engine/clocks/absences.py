"""Which of several logs are away, and how long one was that is back: that time is charged to nobody.

With one log there is nothing to look at: when that is away, so is the database of the clocks, and the pulse tells.
"""

from __future__ import annotations

import asyncio
from typing import Final

from services.contracts.ids import MATCH
from services.engine.play.pulse import GAP_MS
from services.runtime.clock import Clock
from services.runtime.database import connection_broke
from services.runtime.log import EventLog

LOOK_SECONDS: Final = 0.5
"""How long a log may take to answer before it counts as away."""

_GIVE_BACK: Final = "select macao_engine.give_back($1, $2)"


class Absences:
    """Looks at the logs besides the main one, each time before clocks are looked at."""

    def __init__(self, log: EventLog, clock: Clock) -> None:
        """Look at the parts of a log."""
        self._log = log
        self._clock = clock
        self._there_ms: dict[str, int] = {}
        self._looking: dict[str, asyncio.Task[int]] = {}

    async def look(self) -> list[str]:
        """Give back the time of those that are back; return how ids of matches begin whose log is away."""
        away: list[str] = []
        for part in self._log.parts[1:]:
            is_there = await self._is_there(part)
            now_ms = self._clock.now_ms()
            there_ms = self._there_ms.setdefault(part.name, now_ms)
            if not is_there:
                away.append(f"{MATCH}_{part.name}")
                continue
            if now_ms - there_ms > GAP_MS:
                await self._log.database.pool.execute(_GIVE_BACK, there_ms, now_ms)
            self._there_ms[part.name] = now_ms
        return away

    def close(self) -> None:
        """Wait for no answer any more."""
        for task in self._looking.values():
            task.cancel()
        self._looking.clear()

    async def _is_there(self, part: EventLog) -> bool:
        """Say whether a log answers. One that does not is asked no second time before it has."""
        task = self._looking.get(part.name)
        if task is None:
            task = self._looking[part.name] = asyncio.create_task(part.tail())
        await asyncio.wait({task}, timeout=LOOK_SECONDS)
        if not task.done():
            return False
        del self._looking[part.name]
        error = task.exception()
        if error is None:
            return True
        if not connection_broke(error):
            raise error
        return False
