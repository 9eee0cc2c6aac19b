"""Starts the tables of quick match that are not full, so that nobody is left hanging.

As soon as enough players for the game sit at a table, others have a short time to come along; then the match begins
with those who are there. Who has been alone for longer is joined by a bot. Every lobby process looks; the command's id
follows from the table, so of several that start the same one, the log takes one.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from services.lobby.tables.board import Board, FillingTable
from services.lobby.tables.bots import Bots
from services.lobby.tables.desk import Desk
from services.lobby.tables.keeper import LOBBY, Keeper
from services.lobby.tables.orders import Order, StartQuick
from services.lobby.tables.quick import QuickMatch
from services.lobby.tables.table import Table
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.tasks import end
from services.runtime.web.idempotency import Command, command_id
from services.runtime.web.problems import Problem

COMPANY_MS: Final = 5_000
"""How long a table that has enough players waits for more."""
ALONE_MS: Final = 30_000
"""How long somebody waits for a person before a bot sits down."""
LOOK_SECONDS: Final = 0.5
TIDY_EVERY: Final = 10
"""Every so many looks, what was promised is compared with what the log says."""
FRESH_SECONDS: Final = 10
KEPT_SECONDS: Final = 24 * 3600
TABLES_MAX: Final = 500

_logger: Final = logging.getLogger("macao.lobby")


class Filling:
    """Watches the tables that quick match fills."""

    def __init__(
        self,
        database: Database,
        board: Board,
        desk: Desk,
        bots: Bots,
        keeper: Keeper,
        quick: QuickMatch,
        clock: Clock,
    ) -> None:
        self._database = database
        self._board = board
        self._desk = desk
        self._bots = bots
        self._keeper = keeper
        self._quick = quick
        self._clock = clock

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Look for tables to start, for as long as this is open."""
        worker = asyncio.create_task(self._work(), name="lobby-quick-match")
        try:
            yield
        finally:
            await end(worker)

    async def tidy(self) -> None:
        """Hand out seats again that were promised in vain, and forget tables that have started."""
        await self._database.pool.execute(
            "SELECT macao_lobby.tidy_quick_tables($1, $2)", FRESH_SECONDS, KEPT_SECONDS
        )

    async def look(self) -> None:
        """Start what is due."""
        for filling in await self._board.filling(TABLES_MAX):
            try:
                await self._start_if_due(filling)
            except Exception as error:  # noqa: BLE001 - one table's trouble is not the others'
                _logger.warning("table %s is not started yet: %r", filling.table.id, error)

    async def _work(self) -> None:
        for turn in itertools.count():
            try:
                await self.look()
                if turn % TIDY_EVERY == 0:
                    await self.tidy()
            except Exception as error:  # noqa: BLE001 - whatever is away comes back, and the work goes on
                _logger.warning("quick match could not look at the board: %r", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _start_if_due(self, filling: FillingTable) -> None:
        now_ms = self._clock.now_ms()
        if filling.enough_since_ms is not None:
            if now_ms - filling.enough_since_ms >= COMPANY_MS:
                await self._start(filling.table, StartQuick())
        elif now_ms - filling.changed_at_ms >= ALONE_MS:
            await self._start(filling.table, await self._with_bots(filling))

    async def _with_bots(self, filling: FillingTable) -> StartQuick:
        table = filling.table
        missing = (table.quick_min or 0) - len(table.seated)
        # The occasion is the same for every process that looks, so they make the same bots.
        bots = [
            await self._bots.make(f"alone:{table.id}:{table.version}:{number}", filling.changed_at_ms, table)
            for number in range(missing)
        ]
        return StartQuick(tuple(bots))

    async def _start(self, table: Table, order: Order) -> None:
        name = f"start-quick:{table.id}"
        command = Command(command_id(LOBBY, name), sha256(name.encode()).digest())
        try:
            done = await self._desk.act(table.id, order, actor=LOBBY, command=command, cause=None)
        except Problem as problem:
            # Somebody came or went at this very moment, and the board will tell.
            _logger.info("table %s was not to be started: %s", table.id, problem.code)
            return
        await self._quick.forget(table.id)
        if not done.replayed:
            await self._keeper.begin_soon(done.table)
