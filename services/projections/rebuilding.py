"""Building the tables of a projection anew, from the first event, while the old ones serve.

The new tables stand in a schema of their own. They are filled at full speed; when little is missing, the checkpoint of
the served tables is locked, which makes its live reader wait for a moment, and the new tables are brought to exactly
that checkpoint. Then they either take over, names and all, in the same transaction; or they are held against the served
ones, row by row, and dropped.

A rebuild begins by dropping what an earlier one may have left, so it can be killed at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.projections.projection import NEXT, Projection
from services.projections.rebuilds import Purpose, Rebuilds
from services.runtime.checkpoint import process_name
from services.runtime.database import Database, connection_broke, hang_up
from services.runtime.log import EventLog, Page, slice_of

PAGE_MAX: Final = 2_000
"""The most events of one transaction."""

TELL_PAGES: Final = 5
"""After so many pages it is written down how far the build has come."""

LOCK_SECONDS: Final = 1
"""How long the switch waits for readers before it lets those pass that queue behind it, and tries again."""

SWITCH_ATTEMPTS_MAX: Final = 20

Connection: TypeAlias = "asyncpg.Connection[Any]"

_LOCK_ROWS = """
SELECT slice, position, event_hash, state, parked FROM {log}.subscriptions
WHERE name = $1 AND version = $2 ORDER BY slice FOR UPDATE
"""
_SERVED = (
    "SELECT min(position) FROM {log}.subscriptions WHERE name = $1 AND version = $2 AND state = 'running'"
)
_SWITCHED = """
UPDATE {log}.subscriptions SET
    position = coalesce($4, position), event_hash = CASE WHEN $4 IS NULL THEN event_hash ELSE $5 END,
    epoch = epoch + 1, state = 'running', last_error = NULL, parked = 0, generation = generation + 1,
    built_position = coalesce($4, position)
WHERE name = $1 AND version = $2 AND slice = $3
"""
_BEGIN = "INSERT INTO {log}.subscriptions (name, version, slice) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
_FORGET_VERSIONS = "DELETE FROM {log}.subscriptions WHERE name = $1 AND (version <> $2 OR slice >= $3)"
_FORGET_LETTERS = "DELETE FROM {log}.dead_letters WHERE name = $1"
# `*<>` compares the bytes of two rows, whatever their types think of them.
_DIFFERENCES = """
SELECT count(*) FROM {served} AS old FULL JOIN {next} AS new USING ({key})
WHERE old IS NULL OR new IS NULL OR old *<> new
"""


class BusyError(Exception):
    """Somebody else is building these tables at this moment."""


class RebuildError(Exception):
    """The tables cannot be built; the message says why. The old ones go on to serve."""


class StoppedError(Exception):
    """The process is about to end; nothing is left behind but the request."""


class Outcome(Struct, frozen=True):
    """How a rebuild ended.

    Attributes:
        position: of the log, up to which the new tables are filled.
        differences: rows that differ from the served ones by table; None unless that was asked for.
    """

    position: int
    differences: dict[str, int] | None = None


class _Target(Struct, frozen=True):
    """Where the new tables have to be brought: the served checkpoint by slice, None where it cannot be kept."""

    positions: dict[int, int] | None
    parked: int


class Rebuilding:
    """One rebuild.

    Args:
        projection: names the tables and how events become rows; a copy of it writes.
        told: called with the position reached and the end of the log, after every few pages.
        stopping: asked between pages whether to stop.
    """

    def __init__(
        self,
        database: Database,
        log: EventLog,
        projection: Projection,
        purpose: Purpose,
        *,
        told: Callable[[int, int], None] = lambda _position, _head: None,
        stopping: Callable[[], bool] = lambda: False,
        page_max: int = PAGE_MAX,
    ) -> None:
        self._database = database
        self._log = log
        self._projection = projection
        self._next = type(projection)(NEXT)
        self._purpose = purpose
        self._told = told
        self._stopping = stopping
        self._page_max = page_max
        self._rebuilds = Rebuilds(log.schema)
        self._tables = list(projection.TABLES)
        self._position = 0
        self._hash: bytes | None = None

    async def run(self) -> Outcome:
        """Build, and switch or compare; the row of the rebuild says how it ended.

        Raises:
            BusyError: another process is at it.
            RebuildError: an event cannot be worked off, or the tables cannot be replaced.
            StoppedError: ``stopping`` said so; the request stands.
            asyncpg.PostgresError, OSError: the database went away; the request stands, to be taken up again.
        """
        name = self._projection.NAME
        connection = await self._database.connect(f"rebuild {name}", command_seconds=None)
        try:
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", self._rebuilds.lock(name)):
                raise BusyError
            try:
                return await self._build(connection)
            except StoppedError:
                await self._definer(connection, "drop_build")
                await self._rebuilds.again(connection, name)
                raise
            except Exception as error:
                if connection_broke(error):
                    raise
                told = error if isinstance(error, RebuildError) else RebuildError(repr(error))
                await self._definer(connection, "drop_build")
                await self._rebuilds.end(connection, name, error=str(told))
                raise told from error
        finally:
            await hang_up(connection)

    async def _build(self, connection: Connection) -> Outcome:
        name = self._projection.NAME
        await self._rebuilds.begin(
            connection, name, process_name(), await self._log.head_position(connection=connection)
        )
        await connection.execute("SET synchronous_commit = off")  # what is lost by a crash is built again
        await self._definer(connection, "begin_build")
        await self._catch_up(connection)
        await connection.execute("RESET synchronous_commit")
        await self._definer(connection, "analyze_build")
        for attempt in range(1, SWITCH_ATTEMPTS_MAX + 1):
            try:
                return await self._finish(connection)
            except asyncpg.LockNotAvailableError as error:
                if attempt == SWITCH_ATTEMPTS_MAX:
                    raise RebuildError("readers held the old tables all the time: try again later") from error
                if self._stopping():
                    raise StoppedError from error
                await self._catch_up(connection)
            except asyncpg.DependentObjectsStillExistError as error:
                raise RebuildError(
                    f"something of yours depends on the old tables: {error.detail or error}"
                ) from error
        raise AssertionError

    async def _catch_up(self, connection: Connection) -> None:
        """Apply page after page until little is missing. While one is applied the next is read."""
        reader = await self._database.connect(
            f"rebuild {self._projection.NAME}, reading", command_seconds=None
        )
        try:
            page = await self._read(reader, self._position)
            pages = 0
            while page.position > self._position:
                if self._stopping():
                    raise StoppedError("it was stopped")
                ahead = asyncio.create_task(self._read(reader, page.position))
                try:
                    await self._apply(connection, page)
                    pages += 1
                    if pages % TELL_PAGES == 0:
                        await self._tell(connection)
                finally:
                    following = (await asyncio.gather(ahead, return_exceptions=True))[0]
                if isinstance(following, BaseException):
                    raise following
                page = following
            await self._tell(connection)
        finally:
            await hang_up(reader)

    async def _read(self, connection: Connection, after: int) -> Page:
        """Return the next page, not beyond what the served tables hold: rows are compared at one position."""
        served = await connection.fetchval(
            self._sql(_SERVED), self._projection.NAME, self._projection.VERSION
        )
        room = self._page_max if served is None else min(self._page_max, served - after)
        if room <= 0:
            return Page([], after, b"")
        return await next_page(self._log, self._projection, after, room, connection)

    async def _apply(self, connection: Connection, page: Page) -> None:
        """Apply a page in a transaction of its own.

        Raises:
            RebuildError: with the event that cannot be worked off.
        """
        if page.events:
            await self._work_off(connection, page.events)
        self._position, self._hash = page.position, page.hash

    async def _finish(self, connection: Connection) -> Outcome:
        """Lock the served checkpoint, bring the new tables there, and switch or compare."""
        name, version = self._projection.NAME, self._projection.VERSION
        compared: Outcome | None = None
        position, digest = self._position, self._hash
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            target = await self._target(connection)
            position, digest = await self._bring_to(connection, target)
            if self._purpose == "compare":
                if target.positions is None or target.parked:
                    raise RebuildError(
                        "the served tables have stopped, lost their tail or leave out parked streams: "
                        "they have to differ, and there is nothing to compare"
                    )
                compared = Outcome(position, await self._differences(connection))
            else:
                await self._definer(connection, "finish_build")
                await connection.execute(self._sql(_FORGET_VERSIONS), name, version, self._projection.SLICES)
                await connection.execute(self._sql(_FORGET_LETTERS), name)
                for slice_ in range(self._projection.SLICES):
                    await connection.execute(self._sql(_BEGIN), name, version, slice_)
                    kept = target.positions is not None
                    await connection.execute(
                        self._sql(_SWITCHED), name, version, slice_, None if kept else position, digest
                    )
                await self._rebuilds.move(connection, name, position, position)
                await self._rebuilds.end(connection, name)
        if compared is not None:
            await self._definer(connection, "drop_build")
            differences = sum((compared.differences or {}).values())
            await self._rebuilds.end(connection, name, differences=differences)
            return compared
        return Outcome(position)

    async def _target(self, connection: Connection) -> _Target:
        """Lock the served checkpoint: nobody moves it, and so nobody writes the served tables, until we have ended."""
        rows = await connection.fetch(self._sql(_LOCK_ROWS), self._projection.NAME, self._projection.VERSION)
        parked = max((row["parked"] for row in rows), default=0)
        sound = [row["slice"] for row in rows] == list(range(self._projection.SLICES))
        for row in rows:
            if row["state"] != "running":
                sound = False
            elif row["position"]:
                sound = sound and await self._log.hash_at(row["position"], connection) == row["event_hash"]
        return _Target({row["slice"]: row["position"] for row in rows} if sound else None, parked)

    async def _bring_to(self, connection: Connection, target: _Target) -> tuple[int, bytes | None]:
        """Apply what is missing, of each stream up to the checkpoint of its slice; return where that ends."""
        position, digest = self._position, self._hash
        if target.positions is None:
            return position, digest
        end = max(target.positions.values())
        while position < end:
            page = await self._log.read_all(
                position, min(self._page_max, end - position), connection=connection
            )
            if not page:
                raise RebuildError(f"the log ends at {position}, before the checkpoint at {end}")
            wanted = [
                recorded
                for recorded in page
                if recorded.position
                <= target.positions[slice_of(recorded.event.stream, self._projection.SLICES)]
            ]
            if wanted:
                await self._work_off(connection, wanted)
            position, digest = page[-1].position, page[-1].event.hash
        return position, digest

    async def _work_off(self, connection: Connection, page: list[Recorded]) -> None:
        """Apply a page, in a transaction or, inside of that of the switch, behind a savepoint; find the event at fault.

        Raises:
            RebuildError: with the event that cannot be worked off.
        """
        try:
            async with connection.transaction():
                await self._next.apply(connection, page)
        except Exception as error:
            if connection_broke(error):
                raise
            if len(page) == 1:
                raise _poisoned(page[0], error) from error
            for recorded in page:
                await self._work_off(connection, [recorded])

    async def _differences(self, connection: Connection) -> dict[str, int]:
        """Count the rows, by table, that are not the same byte for byte."""
        found: dict[str, int] = {}
        for table, key in self._projection.TABLES.items():
            sql = (
                _DIFFERENCES.replace("{served}", self._projection.sql("{schema}.") + table)
                .replace("{next}", self._next.sql("{schema}.") + table)
                .replace("{key}", key)
            )
            found[table] = await connection.fetchval(sql)
        return found

    async def _tell(self, connection: Connection) -> None:
        head = await self._log.head_position(connection=connection)
        await self._rebuilds.move(connection, self._projection.NAME, self._position, head)
        self._told(self._position, head)

    async def _definer(self, connection: Connection, function: str) -> None:
        """Call one of the functions that make and move tables, which the application's role may not do itself."""
        await connection.execute(f"SELECT macao_projections.{function}($1)", self._tables)

    def _sql(self, text: str) -> str:
        return text.replace("{log}", self._log.schema)


async def next_page(
    log: EventLog, projection: Projection, after: int, window: int, connection: Connection
) -> Page:
    """Return what can change a projection's rows among the next events of the log, at most so many of the log's.

    Of the others the server keeps what they say, and most are: a build of the board needs one event in twenty.
    """
    if projection.TYPES is not None:
        return await log.read_types(after, window, sorted(projection.TYPES), connection)
    events = await log.read_all(after, window, connection=connection)
    return Page(events, events[-1].position, events[-1].event.hash) if events else Page([], after, b"")


def _poisoned(recorded: Recorded, error: Exception) -> RebuildError:
    event = recorded.event
    return RebuildError(
        f"the event at position {recorded.position} ({event.type}, version {event.version} of {event.stream}) "
        f"cannot be worked off: {error!r}. The old tables go on to serve; mend the code, and begin again"
    )
