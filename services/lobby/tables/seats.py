"""The seats of somebody who is gone for good, as an operator frees them: by the log, whether a lobby runs or not."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from services.lobby.tables.clerk import Clerk
from services.lobby.tables.orders import StandUp
from services.lobby.tables.seated import tables_of
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.web.idempotency import Command, command_id
from services.runtime.web.problems import Problem

OPERATOR: Final = "operator"
"""Who is the actor of what an operator does at a table."""

_GONE: Final = frozenset({"table-closed", "not-seated"})


class Seats:
    """Finds the seats of a player, and frees them.

    Args:
        log: open, as an event is appended for each seat.
    """

    def __init__(self, database: Database, log: EventLog, clock: Clock) -> None:
        self._database = database
        self._streams = TableStreams(log, clock)
        self._clerk = Clerk(log, self._streams)

    async def of(self, player: str) -> list[Table]:
        """Return the tables at which a player sits."""
        return await tables_of(self._database.pool, self._streams, player)

    async def free(self, player: str) -> list[Table]:
        """Free a player's seats, except those in running matches; return the tables as they were found.

        A table whose match began at this very moment is returned as it is now.
        """
        return [await self._freed(table, player) for table in await self.of(player)]

    async def _freed(self, table: Table, player: str) -> Table:
        if table.state == "playing":
            return table
        key = f"gone:{table.id}:{table.version}:{player}"
        command = Command(command_id(OPERATOR, key), sha256(key.encode()).digest())
        try:
            await self._clerk.act(table.id, StandUp(player), actor=OPERATOR, command=command, cause=None)
        except Problem as problem:
            if problem.code == "match-running":
                return await self._clerk.find(table.id)
            if problem.code not in _GONE:
                raise
        return table
