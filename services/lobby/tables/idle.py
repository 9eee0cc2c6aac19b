"""Closes open tables that nobody has touched for long: people left their seats without standing up.

Every lobby process looks, and the table's stream takes it once. Whoever does something at the table at that very
moment was faster: then it is not idle any more, and stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from services.lobby.tables.board import Board
from services.lobby.tables.deciding import Refusal, decide
from services.lobby.tables.keeper import LOBBY
from services.lobby.tables.orders import Expire
from services.lobby.tables.streams import TableStreams
from services.runtime.clock import Clock
from services.runtime.log import Appended
from services.runtime.tasks import end
from services.runtime.web.idempotency import Command, command_id

LOOK_SECONDS: Final = 60.0
TABLES_MAX: Final = 200
"""How many are closed at a look; more are closed at the next ones."""
HOUR_MS: Final = 3_600_000

_logger: Final = logging.getLogger("macao.lobby")


class Idle:
    """Watches tables at which nothing happens.

    Args:
        hours: for how long nothing has to have happened; 0: no table is ever closed for it.
    """

    def __init__(self, board: Board, streams: TableStreams, clock: Clock, hours: float) -> None:
        self._board = board
        self._streams = streams
        self._clock = clock
        self._idle_ms = round(hours * HOUR_MS)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Close what is idle, for as long as this is open."""
        if not self._idle_ms:
            yield
            return
        worker = asyncio.create_task(self._work(), name="lobby-idle")
        try:
            yield
        finally:
            await end(worker)

    async def look(self) -> int:
        """Close what is idle now; return how many tables that were."""
        before_ms = self._clock.now_ms() - self._idle_ms
        closed = 0
        for table in await self._board.untouched(before_ms, TABLES_MAX):
            try:
                closed += await self._close(table, before_ms)
            except Exception as error:  # noqa: BLE001 - one table's trouble is not the others'
                _logger.warning("table %s is idle and not closed yet: %r", table, error)
        return closed

    async def _work(self) -> None:
        while True:
            try:
                closed = await self.look()
                if closed:
                    _logger.info("%d tables were closed that nobody had touched for long", closed)
            except Exception as error:  # noqa: BLE001 - whatever is away comes back, and the work goes on
                _logger.warning("idle tables could not be looked for: %r", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _close(self, table: str, before_ms: int) -> bool:
        loaded = await self._streams.load(table)
        if loaded is None or loaded.last_at_ms >= before_ms:
            return False  # the board is behind
        facts = decide(loaded.table, Expire(), LOBBY)
        if isinstance(facts, Refusal):
            return False
        key = f"idle:{table}:{loaded.table.version}"
        command = Command(command_id(LOBBY, key), sha256(key.encode()).digest())
        outcome, _ = await self._streams.append(
            table, loaded, facts, actor=LOBBY, command=command, cause=None
        )
        return isinstance(outcome, Appended)
