"""Sees that what was started begins, and that what is over ends: exactly once, whoever dies in between.

``match-requested`` is in the table's stream before the engine is asked, so a request cannot get lost; and the
engine knows a match by its id, so asking again cannot start a second one. What is outstanding is read from the
board, by every lobby process: two that work on the same table do the same thing, and the log takes it once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final, cast

from services.lobby.engine import Engine
from services.lobby.tables.board import Board, Outstanding
from services.lobby.tables.desk import Desk
from services.lobby.tables.orders import Finish, Order
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.runtime.players import Players
from services.runtime.tasks import end
from services.runtime.web.idempotency import Command, command_id
from services.runtime.web.problems import Problem

LOBBY: Final = "lobby"
LOOK_SECONDS: Final = 2.0
"""How often the board is looked at without being told to."""
OUTSTANDING_MAX: Final = 100
TOGETHER_MAX: Final = 8

_FOR_GOOD: Final = frozenset({"unknown-game", "options-invalid", "seats-invalid"})
"""What the engine will answer again however often it is asked: today's rules do not play this."""

_logger: Final = logging.getLogger("macao.lobby")


class Keeper:
    """Begins and finishes the matches of tables."""

    def __init__(
        self, desk: Desk, streams: TableStreams, engine: Engine, board: Board, players: Players
    ) -> None:
        self._players = players
        self._desk = desk
        self._streams = streams
        self._engine = engine
        self._board = board

    async def begin(self, table: Table) -> None:
        """Have the engine start the match that a table has requested.

        Raises:
            Problem: the engine does not play this (then the table is open again), or is ``unavailable``.
        """
        try:
            await self._engine.start(table)
        except Problem as problem:
            if problem.code in _FOR_GOOD:
                await self.finish(table.id)
            raise

    async def begin_soon(self, table: Table) -> None:
        """The same for a match that nobody asked for by itself: if it does not begin now, it is made up for."""
        try:
            await self.begin(table)
        except Problem as problem:
            _logger.warning("the match of table %s has not begun yet: %s", table.id, problem.code)

    async def finish(self, table: str) -> None:
        """Open a table again whose match is over, under a commitment to the next match.

        Who left the match leaves the table, and who was erased while it ran: a seat is not kept for somebody who has
        gone.
        """
        loaded = await self._streams.load(table)
        if loaded is None or loaded.table.state != "playing" or loaded.table.match is None:
            return
        over = loaded.table.match
        erased = await self._players.erased_among(seat.player for seat in loaded.table.seated)
        gone = {loaded.table.seat_of(player) for player in erased} - {None}
        left = tuple(sorted({*await self._streams.left_match(over), *cast("set[int]", gone)}))

        async def plan(now: Table) -> Order:
            settings = now.settings
            staying = [
                seat for number, seat in enumerate(now.seats) if seat is not None and number not in left
            ]
            if all(seat.bot is not None for seat in staying):
                # The table closes; a commitment to a next match would never be seen.
                return Finish(over, None, left)
            try:
                # The key follows from the last match, so everybody who finishes it gets the same commitment.
                committed = await self._engine.commit(
                    now.game, settings.options, settings.seats, key=f"next:{over}", completed=True
                )
            except Problem as problem:
                if problem.code not in _FOR_GOOD:
                    raise
                return Finish(over, None, left)
            return Finish(over, committed.as_commitment, left)

        command = Command(command_id(LOBBY, f"finish:{over}"), sha256(over.encode()).digest())
        try:
            await self._desk.act(table, plan, actor=LOBBY, command=command, cause=None)
        except Problem as problem:
            if problem.code not in ("match-over", "table-closed"):
                raise

    async def hear(self, table: str) -> bool:
        """See to it that a table knows of the end of its match, if the log has it; say whether it has.

        The board, by which tables hear of it otherwise, is a moment behind.

        Raises:
            Problem: ``unavailable``, if there is no commitment to a next match to be had just now.
        """
        loaded = await self._streams.load(table)
        if (
            loaded is None
            or loaded.table.match is None
            or not await self._streams.is_over(loaded.table.match)
        ):
            return False
        await self.finish(table)
        return True

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work off what is outstanding, for as long as this is open."""
        worker = asyncio.create_task(self._work(), name="lobby-keeper")
        try:
            yield
        finally:
            await end(worker)

    async def _work(self) -> None:
        while True:
            try:
                outstanding = await self._board.outstanding(OUTSTANDING_MAX)
                gate = asyncio.Semaphore(TOGETHER_MAX)
                await asyncio.gather(*(self._settle(item, gate) for item in outstanding))
            except Exception as error:  # noqa: BLE001 - whatever is away comes back, and the work goes on
                _logger.warning("the keeper could not look at the board: %r", error)
            await self._board.wait(LOOK_SECONDS)

    async def _settle(self, item: Outstanding, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                if item.over:
                    await self.finish(item.table)
                    return
                loaded = await self._streams.load(item.table)
                if loaded is not None and loaded.table.state == "playing":
                    await self.begin(loaded.table)
            except Exception as error:  # noqa: BLE001 - one table's trouble is not the others'
                _logger.warning("table %s is not settled yet: %r", item.table, error)
