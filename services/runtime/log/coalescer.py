"""Gathers the appends of a process: callers queue, and what is there when a writer is free goes as one batch.

Nothing waits in order to be gathered. While one batch is on its way the next one collects by itself, so batches are
small when it is quiet and large under load. The database commits one batch at a time, from whatever process; a second
writer is there so that one batch is checked, or answered, while the other is being written.

What is kept, whatever happens:

- one append a stream is on its way at a time, and one a command: those of one stream go in the order of their calls;
- a caller that goes away takes nothing back: what was accepted is sent;
- when a connection breaks, nobody knows whether the batch was committed. It is sent again, with the same command ids,
  until there is an answer: what had been committed is then found as a duplicate of itself;
- an item that the database refuses to store is singled out by halving its batch, and fails alone.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from asyncpg import Record

from services.runtime.log import codec
from services.runtime.log.counts import AppendCounts
from services.runtime.log.errors import AppendError, LogUnavailableError
from services.runtime.log.lanes import Lanes, Ticket
from services.runtime.log.types import Append, Appended, Duplicate, Outcome
from services.runtime.log.writer import Connect, Writer

_logger: Final = logging.getLogger(__name__)

WRITERS: Final = 2
"""Connections that write for one process. A third finds nothing left to do side by side."""

SHARE_MIN: Final = 16
"""What waits is split between idle writers only when each gets as many: every batch has a price of its own."""

SHARE_SECONDS: Final = 0.003
"""Once a batch takes longer than this, its price is mostly the commit, and as much as possible goes into one."""

QUEUE_MAX: Final = 8_192
"""The most appends that wait in one process; more are turned away at once rather than made to wait in vain."""

PATIENCE_SECONDS: Final = 10.0
"""How long a caller waits for an outcome before it is told that there is none yet."""

DRAIN_SECONDS: Final = 10.0
"""How long closing waits for what was accepted."""

SWEEP_SECONDS: Final = 0.25
"""How often it is looked whose patience has run out; a timer for each append would cost more than it is worth."""

Committed: TypeAlias = Callable[[int, Sequence[tuple[str, int]]], None]
Settled: TypeAlias = tuple[Ticket, Outcome | Exception]


class Coalescer:
    """The appends of one process to one log.

    Args:
        connect: opens a connection; its argument says what for.
        schema: the schema of the log.
        batch_max: the most appends of one batch.
        committed: told the last position and the new versions by stream after each commit; must return at once.
        counts: told of each batch.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        *,
        batch_max: int,
        committed: Committed | None = None,
        counts: AppendCounts | None = None,
        queue_max: int = QUEUE_MAX,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._batch_max = batch_max
        self._queue_max = queue_max
        self._patience_seconds = patience_seconds
        self._committed = committed
        self._counts = counts
        self._lanes = Lanes()
        if counts is not None:
            counts.watch_queue(lambda: len(self._lanes))
        self._writers = [Writer(connect, schema) for _ in range(WRITERS)]
        self._idle = 0
        self._flight_seconds = 0.0
        self._wake = asyncio.Event()
        self._closing = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and start writing.

        Raises:
            OSError, asyncpg.PostgresError: there is no connection to be had.
        """
        try:
            for writer in self._writers:
                await writer.open()
        except BaseException:
            await self._disconnect()
            raise
        self._closing = False
        self._tasks = {
            asyncio.create_task(self._write_for_ever(one), name="append-writer") for one in self._writers
        }
        self._sweeper = asyncio.create_task(self._sweep_for_ever(), name="append-sweeper")

    async def close(self) -> None:
        """Take no more, send what was accepted, and disconnect; what cannot be sent in time fails as unavailable."""
        self._closing = True
        self._wake.set()
        tasks, self._tasks = self._tasks, set()
        if tasks:
            _done, late = await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for ticket in self._lanes.take_late(math.inf):
            ticket.fail(LogUnavailableError("the service stopped before this was written"))
        await self._disconnect()

    @property
    def connections(self) -> int:
        """How many connections the writers have needed so far."""
        return sum(writer.connections for writer in self._writers)

    async def append(self, item: Append) -> Outcome:
        """Queue an append and wait for its outcome; see ``EventLog.append``."""
        if self._closing:
            raise LogUnavailableError("the log is closed")
        if len(self._lanes) >= self._queue_max:
            raise LogUnavailableError(f"{self._queue_max} appends are waiting already")
        loop = asyncio.get_running_loop()
        ticket = Ticket(item, loop.create_future(), loop.time() + self._patience_seconds)
        self._lanes.add(ticket)
        self._wake.set()
        return await ticket.outcome

    async def _write_for_ever(self, writer: Writer) -> None:
        """Send batch after batch, until there are no more to come."""
        loop = asyncio.get_running_loop()
        self._idle += 1
        while len(self._lanes) or not self._closing:
            batch = self._lanes.take(self._share())
            if not batch:
                self._wake.clear()
                await self._wake.wait()
                await asyncio.sleep(0)  # what has come in with the same turn of the loop goes along
                continue
            self._idle -= 1
            sent = loop.time()
            try:
                self._hand_out(await self._settle(writer, batch.copy()))
            finally:
                for ticket in batch:  # all have an outcome by now, unless we are being cancelled
                    ticket.fail(LogUnavailableError("the service stopped before this had an outcome"))
                self._lanes.done(batch)
                self._idle += 1
                self._flight_seconds = loop.time() - sent
                if self._counts is not None:
                    self._counts.batch(len(batch), self._flight_seconds)
            if self._lanes.ready or self._closing:
                self._wake.set()  # what waited for one of these streams, or for the end

    def _share(self) -> int:
        """Say how many to take: a fair part for each idle writer; or all, when a batch takes long whatever its size."""
        if self._flight_seconds > SHARE_SECONDS:
            return self._batch_max
        return min(self._batch_max, max(SHARE_MIN, math.ceil(self._lanes.ready / self._idle)))

    async def _settle(self, writer: Writer, batch: list[Ticket]) -> list[Settled]:
        """Bring about an outcome, or an error, for every ticket."""
        try:
            rows = await writer.send(batch)
            return [(ticket, _outcome_of(ticket, row)) for ticket, row in zip(batch, rows, strict=True)]
        except Exception as error:
            if len(batch) == 1:
                _logger.exception("an append to %s was refused by the database", batch[0].item.stream)
                return [(batch[0], AppendError(f"the database refuses this append: {error}"))]
            middle = len(batch) // 2
            return await self._settle(writer, batch[:middle]) + await self._settle(writer, batch[middle:])

    def _hand_out(self, settled: list[Settled]) -> None:
        """Give the callers their outcomes, and say what was committed."""
        heads: list[tuple[str, int]] = []
        last = 0
        for ticket, outcome in settled:
            if isinstance(outcome, Exception):
                ticket.fail(outcome)
                continue
            if type(outcome) is Appended:
                heads.append((ticket.item.stream, outcome.version))
                last = max(last, outcome.position)
            ticket.succeed(outcome)
        if heads and self._committed is not None:
            try:
                self._committed(last, heads)
            except Exception:  # the append is done, and the writer has to go on, whoever fails to hear of it
                _logger.exception("a commit could not be announced")

    async def _sweep_for_ever(self) -> None:
        """Tell callers whose patience has run out that there is no outcome; what was not sent yet will not be sent."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            for ticket in self._lanes.late_on_their_way(now):
                ticket.fail(LogUnavailableError("the database has not answered yet; the outcome is unknown"))
            for ticket in self._lanes.take_late(now):
                ticket.fail(LogUnavailableError("the database is too slow; this was not sent"))

    async def _disconnect(self) -> None:
        for writer in self._writers:
            await writer.close()


def _outcome_of(ticket: Ticket, row: Record) -> Outcome:
    outcome = codec.to_outcome(row)
    if ticket.repeated and type(outcome) is Duplicate:
        # Most likely the first sending had been committed, and this is its own outcome after all.
        item = ticket.item
        if outcome.version == item.events[-1].version and outcome.answer == item.answer:
            return Appended(outcome.version, codec.position_of(row))
    return outcome
