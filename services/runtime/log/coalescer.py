"""Gathers the appends of a process: callers queue, one writer sends what is there as one batch.

Nothing waits in order to be gathered. While one batch is on its way the next one collects by itself, so batches are
small when it is quiet and large under load, and one connection commits in one order.

What is kept, whatever happens:

- at most one item a stream and one a command in a batch, so items of one stream go in the order of their calls;
- a caller that goes away takes nothing back: what was accepted is sent;
- when a connection breaks, nobody knows whether the batch was committed. It is sent again, with the same command ids,
  until there is an answer: what had been committed is then found as a duplicate of itself;
- an item that the database refuses to store is singled out by halving its batch, and fails alone.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from asyncpg import Connection, Record
from asyncpg.prepared_stmt import PreparedStatement

from services.runtime.database import connection_broke, hang_up
from services.runtime.log import codec
from services.runtime.log.errors import AppendError, LogUnavailableError
from services.runtime.log.lanes import Lanes, Ticket
from services.runtime.log.types import Append, Appended, Duplicate, Outcome

_logger: Final = logging.getLogger(__name__)

QUEUE_MAX: Final = 8_192
"""The most appends that wait in one process; more are turned away at once rather than made to wait in vain."""

PATIENCE_SECONDS: Final = 10.0
"""How long a caller waits for an outcome before it is told that there is none yet."""

STATEMENT_SECONDS: Final = 15.0
"""How long one batch may take before its connection is given up."""

DRAIN_SECONDS: Final = 10.0
"""How long closing waits for what was accepted."""

SWEEP_SECONDS: Final = 0.25
"""How often it is looked whose patience has run out; a timer for each append would cost more than it is worth."""

BACKOFF_FIRST_SECONDS: Final = 0.02
BACKOFF_LAST_SECONDS: Final = 1.0

Connect: TypeAlias = "Callable[[str], Awaitable[Connection[Any]]]"
Committed: TypeAlias = Callable[[int, Sequence[tuple[str, int]]], None]


class Coalescer:
    """One writer for one log in one process.

    Args:
        connect: opens the writer's own connection; its argument says what for.
        schema: the schema of the log.
        committed: told the last position and the new versions by stream after each commit; must return at once.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        *,
        batch_max: int,
        committed: Committed | None = None,
        queue_max: int = QUEUE_MAX,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._connect = connect
        numbers = ", ".join(f"${number}" for number in range(1, codec.ARGUMENTS + 1))
        self._sql = f"SELECT * FROM {schema}.append_many({numbers})"  # noqa: S608 - the schema's name is ours
        self._batch_max = batch_max
        self._queue_max = queue_max
        self._patience_seconds = patience_seconds
        self._committed = committed
        self._lanes = Lanes()
        self._flying: list[Ticket] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._writer: asyncio.Task[None] | None = None
        self._connection: Connection[Any] | None = None
        self._statement: PreparedStatement[Record] | None = None

    async def open(self) -> None:
        """Connect, and start writing.

        Raises:
            OSError, asyncpg.PostgresError: there is no connection to be had.
        """
        await self._ensure_statement()
        self._closing = False
        self._writer = asyncio.create_task(self._write_for_ever(), name="append-writer")

    async def close(self) -> None:
        """Take no more, send what was accepted, and disconnect; what cannot be sent in time fails as unavailable."""
        self._closing = True
        self._wake.set()
        writer, self._writer = self._writer, None
        if writer is not None:
            _done, late = await asyncio.wait({writer}, timeout=DRAIN_SECONDS)
            if late:
                writer.cancel()
                await asyncio.wait({writer})
        for ticket in self._lanes.take_late(math.inf):
            ticket.fail(LogUnavailableError("the service stopped before this was written"))
        await self._disconnect()

    async def append(self, item: Append) -> Outcome:
        """Queue an append and wait for its outcome; see ``EventLog.append``."""
        if self._closing or self._writer is None:
            raise LogUnavailableError("the log is closed")
        if len(self._lanes) >= self._queue_max:
            raise LogUnavailableError(f"{self._queue_max} appends are waiting already")
        loop = asyncio.get_running_loop()
        ticket = Ticket(item, loop.create_future(), loop.time() + self._patience_seconds)
        self._lanes.add(ticket)
        self._wake.set()
        return await ticket.outcome

    async def _write_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        sweeper = loop.create_task(self._sweep_for_ever(), name="append-sweeper")
        try:
            while self._lanes or not self._closing:
                if not self._lanes:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                self._flying = self._lanes.take(self._batch_max)
                await self._settle(self._flying)
                self._flying = []
        finally:
            sweeper.cancel()
            for ticket in self._flying:
                ticket.fail(LogUnavailableError("the service stopped before this had an outcome"))

    async def _settle(self, batch: list[Ticket]) -> None:
        """Bring about an outcome for every ticket, an error included."""
        try:
            rows = codec.in_order(await self._send(batch), len(batch))
            outcomes = [_outcome_of(ticket, row) for ticket, row in zip(batch, rows, strict=True)]
        except Exception as error:
            if len(batch) == 1:
                _logger.exception("an append to %s was refused by the database", batch[0].item.stream)
                batch[0].fail(AppendError(f"the database refuses this append: {error}"))
                return
            middle = len(batch) // 2
            await self._settle(batch[:middle])
            await self._settle(batch[middle:])
            return
        heads: list[tuple[str, int]] = []
        last = 0
        for ticket, outcome in zip(batch, outcomes, strict=True):
            if type(outcome) is Appended:
                heads.append((ticket.item.stream, outcome.version))
                last = max(last, outcome.position)
            ticket.succeed(outcome)
        if heads and self._committed is not None:
            try:
                self._committed(last, heads)
            except Exception:  # the append is done, and the writer has to go on, whoever fails to hear of it
                _logger.exception("a commit could not be announced")

    async def _send(self, batch: list[Ticket]) -> list[Record]:
        """Send a batch until the database answers; drops from the batch whoever was told that there is no outcome.

        Raises:
            Exception: the database, or the driver, refuses the batch as it stands.
        """
        pause_seconds = BACKOFF_FIRST_SECONDS
        while True:
            try:
                statement = self._statement or await self._ensure_statement()
                arguments = codec.to_arguments([ticket.item for ticket in batch])
                return await statement.fetch(*arguments, timeout=STATEMENT_SECONDS)
            except Exception as error:
                if not connection_broke(error):
                    raise
                _logger.warning(
                    "the log's connection failed, %d appends are sent again: %r", len(batch), error
                )
            await self._disconnect(gracefully=False)
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)
            now = asyncio.get_running_loop().time()
            batch[:] = [ticket for ticket in batch if ticket.deadline > now]
            for ticket in batch:
                ticket.repeated = True
            if not batch:
                return []

    async def _sweep_for_ever(self) -> None:
        """Tell callers whose patience has run out that there is no outcome; what was not sent yet will not be sent."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            for ticket in self._flying:
                if ticket.deadline <= now:
                    ticket.fail(
                        LogUnavailableError("the database has not answered yet; the outcome is unknown")
                    )
            for ticket in self._lanes.take_late(now):
                ticket.fail(LogUnavailableError("the database is too slow; this was not sent"))

    async def _ensure_statement(self) -> PreparedStatement[Record]:
        if self._connection is None:
            self._connection = await self._connect("writer")
        self._statement = await self._connection.prepare(self._sql)
        return self._statement

    async def _disconnect(self, *, gracefully: bool = True) -> None:
        connection, self._connection, self._statement = self._connection, None, None
        if connection is None:
            return
        if gracefully:
            await hang_up(connection)
        else:
            connection.terminate()


def _outcome_of(ticket: Ticket, row: Record) -> Outcome:
    outcome = codec.to_outcome(row)
    if ticket.repeated and type(outcome) is Duplicate:
        # Most likely the first sending had been committed, and this is its own outcome after all.
        item = ticket.item
        if outcome.version == item.events[-1].version and outcome.answer == item.answer:
            return Appended(outcome.version, codec.position_of(row))
    return outcome
