"""How many matches with bots one player may have running: each of them costs the engine time that nobody looks at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from services.contracts.events.table import MatchRequested
from services.lobby.tables.board import reached
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.runtime.database import Database
from services.runtime.web.problems import Problem

_ON_BOARD: Final = """
SELECT id FROM macao_lobby.tables WHERE state = 'playing' AND bots > 0 AND position($1 IN document) > 0
"""
# What has begun since the board was written; it is milliseconds behind.
_BEHIND: Final = """
SELECT DISTINCT stream FROM macao_log.events WHERE position > $1 AND type = $2 LIMIT 500
"""
_REQUESTED: Final = str(MatchRequested.__struct_config__.tag)


class BotMatches:
    """Counts a player's running matches with bots.

    Args:
        matches_max: the most that one player may have; 0: any number.
    """

    def __init__(self, database: Database, streams: TableStreams, matches_max: int) -> None:
        self._database = database
        self._streams = streams
        self._matches_max = matches_max
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def one_at_a_time(self, player: str) -> AsyncIterator[None]:
        """Hold up what else the player starts by this process, so that each start is counted before the next."""
        lock = self._locks.setdefault(player, asyncio.Lock())
        async with lock:
            yield

    async def check(self, player: str) -> None:
        """See to it that the player may have one more.

        Processes do not wait for each other: of several that are asked at one moment each may let one through.

        Raises:
            Problem: ``bot-matches-many``.
        """
        if not self._matches_max:
            return
        running = await self._running(player)
        if len(running) >= self._matches_max:
            raise Problem(
                "bot-matches-many",
                params={"matches_max": self._matches_max, "match_ids": running[: self._matches_max]},
            )

    async def _running(self, player: str) -> list[str]:
        """Return a player's running matches with bots, the oldest first."""
        pool = self._database.pool
        begun = await reached(pool)  # before the board is read, which may move on meanwhile
        tables = {row[0] for row in await pool.fetch(_ON_BOARD, player.encode())}
        tables |= {row[0] for row in await pool.fetch(_BEHIND, begun, _REQUESTED)}
        loaded = [await self._streams.load(table) for table in sorted(tables)]
        return [
            one.table.match
            for one in loaded
            if one is not None
            and one.table.state == "playing"
            and one.table.match is not None
            and one.table.seat_of(player) is not None
            and has_bots(one.table)
        ]


def has_bots(table: Table) -> bool:
    """Say whether a bot sits at a table."""
    return any(seat.bot is not None for seat in table.seated)
