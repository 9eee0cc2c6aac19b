"""The event log as the services use it."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Final, Self

from msgspec import Struct

from services.contracts.envelope import Head, Recorded
from services.contracts.ids import DEFAULT_LOG
from services.runtime.bus import Bell
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.log import codec
from services.runtime.log.coalescer import Coalescer
from services.runtime.log.counts import AppendCounts
from services.runtime.log.types import Append, Command, Outcome

PAGE_MAX: Final = 5_000
"""The most events that one read returns, whatever was asked for: a page has to fit into memory."""


class Page(Struct, frozen=True):
    """A page of the log, or of a slice of it.

    Attributes:
        events: in order.
        position: up to where the log was looked through: of a slice this may lie behind the last of its events.
        hash: of the event there; empty for a page of nothing.
    """

    events: list[Recorded]
    position: int
    hash: bytes


class EventLog:
    """One log: appends through this process's writer, reads through the pool.

    Args:
        database: where the log is.
        bell: rung after each commit; None for nobody to be told.
        counts: what is told of each batch; None for nobody.
    """

    def __init__(
        self,
        database: Database,
        bell: Bell | None = None,
        *,
        name: str = DEFAULT_LOG,
        counts: AppendCounts | None = None,
    ) -> None:
        self.name: Final = name
        self._database = database
        schema = self.schema = schema_of(name)
        self._coalescer = Coalescer(
            database.connect,
            schema,
            batch_max=database.settings.append_batch_max,
            committed=None if bell is None else bell.ring,
            counts=counts,
        )
        columns = codec.EVENT_COLUMNS
        self._command_sql = f"SELECT {codec.COMMAND_COLUMNS} FROM {schema}.commands WHERE id = $1"  # noqa: S608 - no value in it
        self._head_sql = f"SELECT version, hash FROM {schema}.streams WHERE id = $1"  # noqa: S608 - as above
        self._stream_sql = (
            f"SELECT {columns} FROM {schema}.events "  # noqa: S608 - as above
            "WHERE stream = $1 AND version > $2 ORDER BY version LIMIT $3"
        )
        self._all_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 ORDER BY position LIMIT $2"  # noqa: S608 - as above
        )
        self._end_sql = (
            f"SELECT position, hash FROM {schema}.events WHERE position <= $1 ORDER BY position DESC LIMIT 1"  # noqa: S608 - as above
        )
        self._slice_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 AND position <= $2 "  # noqa: S608 - as above
            "AND get_byte(sha256(convert_to(stream, 'UTF8')), 0) % $3 = $4 ORDER BY position"
        )
        self._types_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 AND position <= $2 "  # noqa: S608 - as above
            "AND type = ANY ($3) ORDER BY position"
        )
        self._tail_sql = f"SELECT coalesce(max(position), 0) FROM {schema}.events"  # noqa: S608 - as above

    async def __aenter__(self) -> Self:
        await self._coalescer.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._coalescer.close()

    async def append(self, item: Append) -> Outcome:
        """Append one command's events, gathered with what others append at the same time.

        Cancelling the caller cancels nothing that was sent. Asking again with the same command id is always safe.

        Raises:
            LogUnavailableError: the queue is full, or the database did not answer in time: the outcome is unknown.
            AppendError: the database will never store this.
            ValueError: the events do not follow from the expected head or from each other.
        """
        codec.check(item)
        return await self._coalescer.append(item)

    async def find_command(self, command: str) -> Command | None:
        """Return a committed command with the answer that it got, or None."""
        row = await self._database.pool.fetchrow(self._command_sql, command)
        return None if row is None else codec.to_command(row)

    async def head_of(self, stream: str) -> Head | None:
        """Return the end of a stream, or None if there is no such stream."""
        row = await self._database.pool.fetchrow(self._head_sql, stream)
        return None if row is None else Head(row[0], row[1])

    async def read_stream(
        self, stream: str, after: int = 0, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return a stream's events with a version above ``after``, in order, at most ``limit`` (and ``PAGE_MAX``)."""
        source = self._database.pool if connection is None else connection
        rows = await source.fetch(self._stream_sql, stream, after, min(limit, PAGE_MAX))
        return [codec.to_recorded(row) for row in rows]

    async def read_all(
        self, after: int, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return the log's events with a position above ``after``, in order, at most ``limit`` (and ``PAGE_MAX``)."""
        source = self._database.pool if connection is None else connection
        rows = await source.fetch(self._all_sql, after, min(limit, PAGE_MAX))
        return [codec.to_recorded(row) for row in rows]

    async def read_slice(
        self, after: int, window: int, slice: int, slices: int, connection: AnyConnection
    ) -> Page:
        """Return the events of one of so many slices among the ``window`` positions after a position.

        The server leaves out what belongs to other slices (``slice_of``): it reads all of it, the reader only its own.
        """
        return await self._page(after, window, connection, self._slice_sql, slices, slice)

    async def read_types(
        self, after: int, window: int, types: Collection[str], connection: AnyConnection
    ) -> Page:
        """Return the events of these types among the ``window`` positions after a position."""
        return await self._page(after, window, connection, self._types_sql, types)

    async def _page(
        self, after: int, window: int, connection: AnyConnection, sql: str, *which: object
    ) -> Page:
        end = await connection.fetchrow(self._end_sql, after + min(window, PAGE_MAX))
        if end is None or end[0] <= after:
            return Page([], after, b"")
        rows = await connection.fetch(sql, after, end[0], *which)
        return Page([codec.to_recorded(row) for row in rows], end[0], end[1])

    async def head_position(self, *, connection: AnyConnection | None = None) -> int:
        """Return the position of the last event of the log, 0 while it is empty."""
        source = self._database.pool if connection is None else connection
        position: int = await source.fetchval(self._tail_sql)
        return position


def slice_of(stream: str, slices: int) -> int:
    """Say which of so many slices a stream belongs to: by the first byte of the SHA-256 of its id."""
    return sha256(stream.encode()).digest()[0] % slices


def schema_of(log: str) -> str:
    """Name the schema that a log lives in."""
    return "macao_log" if log == DEFAULT_LOG else f"macao_log_{log}"
