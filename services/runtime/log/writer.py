"""One connection that sends batches to the database, and does not rest until each has an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from asyncpg import Connection, Record
from asyncpg.prepared_stmt import PreparedStatement

from services.runtime.database import connection_broke, hang_up, settle
from services.runtime.log import codec
from services.runtime.log.lanes import Ticket

_logger: Final = logging.getLogger(__name__)

STATEMENT_SECONDS: Final = 15.0
"""How long one batch may take before its connection is given up."""

BACKOFF_FIRST_SECONDS: Final = 0.02
BACKOFF_LAST_SECONDS: Final = 1.0

Connect: TypeAlias = "Callable[[str], Awaitable[Connection[Any]]]"


class Writer:
    """Sends one batch at a time, on a connection of its own.

    Args:
        connect: opens the connection; its argument says what for.
        schema: the schema of the log.

    Attributes:
        connections: how many it has needed so far.
    """

    def __init__(self, connect: Connect, schema: str) -> None:
        self._connect = connect
        numbers = ", ".join(f"${number}" for number in range(1, codec.ARGUMENTS + 1))
        self._sql = f"SELECT * FROM {schema}.append_many({numbers})"  # noqa: S608 - the schema's name is ours
        self._connection: Connection[Any] | None = None
        self._statement: PreparedStatement[Record] | None = None
        self.connections = 0

    async def open(self) -> PreparedStatement[Record]:
        """Connect and prepare.

        Raises:
            OSError, asyncpg.PostgresError: there is no connection to be had.
        """
        if self._connection is None:
            self._connection = await self._connect("writer")
            self.connections += 1
        self._statement = await self._connection.prepare(self._sql)
        return self._statement

    async def close(self) -> None:
        """Disconnect in good manners."""
        connection, self._connection, self._statement = self._connection, None, None
        if connection is not None:
            await hang_up(connection)

    async def send(self, batch: list[Ticket]) -> list[Record]:
        """Send a batch until the database answers; returns its rows, in the order of the batch.

        After a broken connection it is sent again, without those whose deadline has passed: they are taken out of
        ``batch``, having been told that there is no outcome.

        Raises:
            Exception: the database, or the driver, refuses the batch as it stands.
        """
        pause_seconds = BACKOFF_FIRST_SECONDS
        while batch:
            try:
                statement = self._statement or await self.open()
                arguments = codec.to_arguments([ticket.item for ticket in batch])
                rows = await statement.fetch(*arguments, timeout=STATEMENT_SECONDS)
                if codec.only_found(rows) and self._connection is not None:
                    async with asyncio.timeout(STATEMENT_SECONDS):
                        await settle(self._connection)
                return codec.in_order(rows, len(batch))
            except Exception as error:
                if not connection_broke(error):
                    raise
                _logger.warning(
                    "the log's connection failed, %d appends are sent again: %r", len(batch), error
                )
            connection, self._connection, self._statement = self._connection, None, None
            if connection is not None:
                connection.terminate()
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)
            now = asyncio.get_running_loop().time()
            batch[:] = [ticket for ticket in batch if ticket.deadline > now]
            for ticket in batch:
                ticket.repeated = True
        return []
