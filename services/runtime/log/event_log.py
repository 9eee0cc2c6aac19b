"""The event log as the services use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final, Self

from msgspec import Struct

from services.contracts.envelope import Head, Link, Recorded
from services.contracts.ids import DEFAULT_LOG
from services.runtime.bus import Bell
from services.runtime.connection import AnyConnection
from services.runtime.database import Database, settle
from services.runtime.log import codec
from services.runtime.log.coalescer import Coalescer
from services.runtime.log.counts import AppendCounts
from services.runtime.log.types import Append, Command, Outcome
from services.runtime.traces import Traces

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


class Lag(Struct, frozen=True):
    """What a reader has still before it.

    Attributes:
        head: the position of the last event.
        seconds: the age of the first event that the reader has not worked off, 0 if there is none.
    """

    head: int
    seconds: float


class EventLog:
    """One log: appends through this process's writer, reads through the pool.

    Where the events of several logs are to be read as one, ``SpreadLog`` has the same face (``runtime/logs``).

    Args:
        database: where the log is.
        bell: rung after each commit; None for nobody to be told.
        counts: what is told of each batch; None for nobody.
        traces: makes a span of each append; None: nobody does.
        place: says where it lives at the moment; another name when it has moved, and who keeps a connection to it
            makes another.
    """

    def __init__(
        self,
        database: Database,
        bell: Bell | None = None,
        *,
        name: str = DEFAULT_LOG,
        counts: AppendCounts | None = None,
        traces: Traces | None = None,
        place: Callable[[], str] = str,
    ) -> None:
        self._traces = traces
        self.name: Final = name
        self.place: Final = place
        self.database: Final = database
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
        self._links_sql = (
            f"SELECT {codec.LINK_COLUMNS} FROM {schema}.events "  # noqa: S608 - as above
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
        self._heads_sql = f"SELECT id, version FROM {schema}.streams WHERE id = ANY($1::text[])"  # noqa: S608 - as above
        self._hash_sql = f"SELECT hash FROM {schema}.events WHERE position = $1"  # noqa: S608 - as above
        self._lag_sql = (
            "SELECT tail.position, "  # noqa: S608 - as above
            "coalesce(extract(epoch FROM clock_timestamp() - waiting.recorded_at), 0)::float8 "
            f"FROM (SELECT coalesce(max(position), 0) AS position FROM {schema}.events) AS tail "
            f"LEFT JOIN {schema}.events AS waiting ON waiting.position = $1::bigint + 1"
        )
        self._between_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 AND position <= $2 "  # noqa: S608 - as above
            "ORDER BY position LIMIT $3"
        )
        self._end_after_sql = (
            f"SELECT (SELECT hash FROM {schema}.events WHERE position = $1), position, hash "  # noqa: S608 - as above
            f"FROM {schema}.events WHERE position >= $1 AND position <= $1::bigint + $2 "
            "ORDER BY position DESC LIMIT 1"
        )
        self._age_sql = (
            "SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8 "  # noqa: S608 - as above
            f"FROM {schema}.events WHERE position = $1"
        )
        self._types_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 AND position <= $2 "  # noqa: S608 - as above
            f"AND (type = ANY ($3) OR position = (SELECT max(position) FROM {schema}.events WHERE position <= $2)) "
            "ORDER BY position"
        )
        self._newest_sql = (
            f"SELECT {columns} FROM {schema}.events WHERE position > $1 AND position <= $2 "  # noqa: S608 - as above
            f"AND (type = ANY ($3) OR position IN (SELECT max(position) FROM {schema}.events "
            "WHERE position > $1 AND position <= $2 GROUP BY stream)) ORDER BY position"
        )
        self._tail_sql = f"SELECT coalesce(max(position), 0) FROM {schema}.events"  # noqa: S608 - as above

    async def __aenter__(self) -> Self:
        await self._coalescer.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._coalescer.close()

    @property
    def connections(self) -> int:
        """How many connections its writers have needed so far. More than before: it may be another server by now."""
        return self._coalescer.connections

    async def append(self, item: Append) -> Outcome:
        """Append one command's events, gathered with what others append at the same time.

        Cancelling the caller cancels nothing that was sent. Asking again with the same command id is always safe.

        Raises:
            LogUnavailableError: the queue is full, or the database did not answer in time: the outcome is unknown.
            AppendError: the database will never store this.
            ValueError: the events do not follow from the expected head or from each other.
        """
        codec.check(item)
        if self._traces is None:
            return await self._coalescer.append(item)
        said = {"macao.log": self.name, "macao.stream": item.stream, "macao.command": item.command}
        with self._traces.doing("append", {**said, "macao.events": len(item.events)}) as span:
            outcome = await self._coalescer.append(item)
            span.set_attribute("macao.outcome", type(outcome).__name__.lower())
            return outcome

    def log_for(self, entropy: bytes) -> str:  # noqa: ARG002 - where there are several, it decides
        """Name the log that a new match begins in, by some random bytes."""
        return self.name

    @property
    def parts(self) -> tuple[EventLog, ...]:
        """The logs that it consists of, itself the first."""
        return (self,)

    def part_of(self, stream: str) -> EventLog:  # noqa: ARG002 - there is one
        """Return the log that a stream lives in."""
        return self

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[EventLog]:
        """Give a log to read from in another event loop than the one that this is open in, by connections alone."""
        yield self

    async def find_command(self, command: str, stream: str | None = None) -> Command | None:  # noqa: ARG002 - one log
        """Return a committed command with the answer that it got, or None.

        Args:
            command: its id.
            stream: the stream that it was for; None for one that lives where tables do.
        """
        row = await self.database.pool.fetchrow(self._command_sql, command)
        if row is None:
            return None
        await settle(self.database.pool)  # whoever asks is about to say that it was done
        return codec.to_command(row)

    async def head_of(self, stream: str) -> Head | None:
        """Return the end of a stream, or None if there is no such stream."""
        row = await self.database.pool.fetchrow(self._head_sql, stream)
        return None if row is None else Head(row[0], row[1])

    async def heads_of(self, streams: Iterable[str]) -> dict[str, int]:
        """Return the versions of those of these streams that there are."""
        rows = await self.database.pool.fetch(self._heads_sql, list(streams))
        return {row[0]: row[1] for row in rows}

    async def read_stream(
        self, stream: str, after: int = 0, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return a stream's events with a version above ``after``, in order, at most ``limit`` (and ``PAGE_MAX``)."""
        source = self.database.pool if connection is None else connection
        rows = await source.fetch(self._stream_sql, stream, after, min(limit, PAGE_MAX))
        return [codec.to_recorded(row) for row in rows]

    async def read_links(
        self, stream: str, after: int = 0, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Link]:
        """Return what ``read_stream`` does, no more of each event than is needed to fold it: in less time."""
        source = self.database.pool if connection is None else connection
        rows = await source.fetch(self._links_sql, stream, after, min(limit, PAGE_MAX))
        return [codec.to_link(row) for row in rows]

    async def read_stream_in_order(
        self, stream: str, after: int, limit: int, connection: AnyConnection
    ) -> list[Recorded]:
        """Return what ``read_stream`` does, with the positions that ``read_all`` gives the same events."""
        return await self.read_stream(stream, after, limit, connection=connection)

    async def read_all(
        self, after: int, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return the log's events with a position above ``after``, in order, at most ``limit`` (and ``PAGE_MAX``)."""
        source = self.database.pool if connection is None else connection
        rows = await source.fetch(self._all_sql, after, min(limit, PAGE_MAX))
        return [codec.to_recorded(row) for row in rows]

    async def read_slice(
        self, after: int, window: int, slice: int, slices: int, connection: AnyConnection
    ) -> Page:
        """Return the events of one of so many slices among the ``window`` positions after a position.

        The server leaves out what belongs to other slices (``slice_of``): it reads all of it, the reader only its own.
        """
        end = await connection.fetchrow(self._end_sql, after + min(window, PAGE_MAX))
        if end is None or end[0] <= after:
            return Page([], after, b"")
        rows = await connection.fetch(self._slice_sql, after, end[0], slices, slice)
        return Page([codec.to_recorded(row) for row in rows], end[0], end[1])

    async def read_types(
        self,
        after: int,
        window: int,
        types: Collection[str],
        connection: AnyConnection,
        *,
        newest: bool = False,
    ) -> Page:
        """Return the events of these types among the ``window`` positions after a position.

        With ``newest`` also the last one there of each stream, whatever it is: it says that the stream has moved on.
        """
        sql = self._newest_sql if newest else self._types_sql
        rows = await connection.fetch(sql, after, after + min(window, PAGE_MAX), types)
        if not rows:
            return Page([], after, b"")
        found = [codec.to_recorded(row) for row in rows]
        last = found[-1]  # it is there whatever its type: so far was the log looked through
        wanted = found if newest or last.event.type in types else found[:-1]
        return Page(wanted, last.position, last.event.hash)

    async def head_position(self, *, connection: AnyConnection | None = None) -> int:
        """Return the position of the last event of the log, 0 while it is empty."""
        source = self.database.pool if connection is None else connection
        position: int = await source.fetchval(self._tail_sql)
        return position

    async def tail(self) -> int:
        """Return the position of the last event of this very log, 0 while it is empty."""
        position: int = await self.database.pool.fetchval(self._tail_sql)
        return position

    async def read_between(self, after: int, last: int) -> list[Recorded]:
        """Return the events of this very log behind a position, up to another; at most ``PAGE_MAX``."""
        rows = await self.database.pool.fetch(self._between_sql, after, last, PAGE_MAX)
        return [codec.to_recorded(row) for row in rows]

    async def end_after(self, position: int, digest: bytes | None, limit: int) -> tuple[int, bytes] | None:
        """Return position and hash of the last of the next ``limit`` events of this very log, at worst of none of them.

        Args:
            position: where to go on from; 0: from the beginning.
            digest: the hash of the event there.
            limit: how many.

        Returns:
            None where the log holds another event at that position, or none.
        """
        row = await self.database.pool.fetchrow(self._end_after_sql, position, limit)
        if row is None:
            return (0, b"") if position == 0 else None
        if position and row[0] != digest:
            return None
        return row[1], row[2]

    async def age_of(self, position: int) -> float:
        """Return how many seconds ago an event of this very log was taken in, 0 if there is none."""
        seconds: float | None = await self.database.pool.fetchval(self._age_sql, position)
        return 0.0 if seconds is None else max(0.0, seconds)

    async def hash_at(self, position: int, connection: AnyConnection) -> bytes | None:
        """Return the hash of the event at a position, None where there is none."""
        digest: bytes | None = await connection.fetchval(self._hash_sql, position)
        return digest

    async def lag_after(self, position: int, connection: AnyConnection) -> Lag:
        """Return what a reader has before it that has worked off everything up to a position."""
        row = await connection.fetchrow(self._lag_sql, position)
        return Lag(0, 0.0) if row is None else Lag(row[0], row[1])


def slice_of(stream: str, slices: int) -> int:
    """Say which of so many slices a stream belongs to: by the first byte of the SHA-256 of its id."""
    return sha256(stream.encode()).digest()[0] % slices


def schema_of(log: str) -> str:
    """Name the schema that a log lives in."""
    return "macao_log" if log == DEFAULT_LOG else f"macao_log_{log}"
