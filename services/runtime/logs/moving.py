"""Moving a log to another server while it is in use.

1. Its schema is made on the other server, in as many partitions as are wanted there, and everything that is there is
   copied, page by page, while it is written to.
2. When little is missing, the log is fenced where it is: nothing more is written to it. Writers wait, and keep what
   they have; all other logs go on.
3. The rest is copied, and both sides are compared. Then the list of logs says where it lives from now on: that one
   statement is the move. Writers that connect anew find it there, and send under the same command ids what they had.

What was acknowledged is in the copy, because the fence comes before the last page. Whatever ends it half-way leaves one
log that is written to, or one that is fenced; run again, it goes on, and ``unfence`` has a fenced log go on where it
is. The copy is fenced until it is the log, and the old one stays, fenced for good, until an operator drops it: so a
process that slept through all of it writes nowhere.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from services.contracts.ids import DEFAULT_LOG
from services.runtime.checkpoint import lock_key
from services.runtime.log.event_log import schema_of
from services.runtime.log.partitions import ONE_TABLE, checked, partition, partitions_of
from services.runtime.logs.adding import LogsError, Sites, migrate_log, one_listed
from services.runtime.logs.servers import MAIN
from services.runtime.tree.store import tree_schema_of

PAGE_MAX: Final = 5_000
"""The most events that are copied in one transaction."""
LITTLE: Final = 2_000
"""So few events missing are copied within the pause."""
CATCH_UP_MAX: Final = 200
"""How often it is tried to get that near, before the log is fenced all the same."""
FENCE_SECONDS: Final = 5
"""How long the fence waits for appends that are under way, before those behind it are let pass."""

_LOCK: Final = lock_key("macao_runtime", "moving logs")


_COLUMNS: Final = """
SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
"""


class Moved(Struct, frozen=True):
    """How a move went.

    Attributes:
        events: the whole log has.
        paused_seconds: from the fence to where the log could be written to again.
        within_pause: events that were copied in that time.
    """

    events: int
    paused_seconds: float
    within_pause: int


class Mover:
    """Moves one log.

    Args:
        told: called with the position copied so far, and the end of the log.
    """

    def __init__(
        self, sites: Sites, name: str, told: Callable[[int, int], None] = lambda _at, _end: None
    ) -> None:
        self._sites = sites
        self._name = name
        self._schema = schema_of(name)
        self._tree = tree_schema_of(name)
        self._told = told

    async def move(self, server: str, partitions: int | None = None) -> Moved:
        """Move it.

        Args:
            server: where to.
            partitions: into how many its events are cut there, ``ONE_TABLE`` for none; None: as they were, or as they
                are in a copy that lies there.

        Raises:
            LogsError: there is no such log or server, it lives there already, another one is being moved, or the two
                sides do not agree.
            MigrationError: the schema cannot be made there, or not cut like that.
        """
        if partitions is not None and partitions != ONE_TABLE:
            checked(partitions)
        if self._name == DEFAULT_LOG:
            raise LogsError(
                "the main log is part of the main database, with players, tables and projections: "
                "that is moved as a whole (docs/operations.md)"
            )
        main = await self._sites.connect(MAIN)
        try:
            if not await main.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                raise LogsError("somebody is moving a log at this moment")
            before = await one_listed(main, self._name)
            if before.server == server:
                raise LogsError(f"the log {self._name} lives on {server} already")
            source = await self._sites.connect(before.server)
            try:
                target = await self._sites.connect(server)
                try:
                    return await self._move(main, source, target, before.server, server, partitions)
                finally:
                    await target.close()
            finally:
                await source.close()
        finally:
            await main.close()

    async def unfence(self) -> None:
        """Have a log that was fenced by a move that failed be written to again, where the list says that it lives.

        Raises:
            LogsError
        """
        main = await self._sites.connect(MAIN)
        try:
            if not await main.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                raise LogsError("somebody is moving a log at this moment")
            here = await self._sites.connect((await one_listed(main, self._name)).server)
            try:
                await self._lift(here)
            finally:
                await here.close()
        finally:
            await main.close()

    @property
    def _fenced(self) -> tuple[str, ...]:
        # In the order in which an append writes to them.
        return (
            f"{self._schema}.streams",
            f"{self._schema}.commands",
            f"{self._schema}.events",
            f"{self._tree}.checkpoints",
        )

    async def _move(
        self,
        main: Connection[Any],
        source: Connection[Any],
        target: Connection[Any],
        old_server: str,
        server: str,
        partitions: int | None,
    ) -> Moved:
        await self._require_two(source, target, old_server, server)
        await migrate_log(self._sites.url(server), self._name)
        await self._lay_out(source, target, server, partitions)
        await self._fence(target)
        await self._prepare(source, target)
        for _ in range(CATCH_UP_MAX):
            if await self._copy(source, target) <= LITTLE:
                break
        await self._copy_tree(source, target)
        paused = time.monotonic()
        await self._fence(source)
        within = 0
        while copied := await self._copy(source, target):  # a page at a time, if there is more than one
            within += copied
        await self._copy_tree(source, target)
        events = await self._compare(source, target)
        moved = await main.execute(
            "UPDATE macao_runtime.logs SET server = $3, moves = moves + 1, moved_at = clock_timestamp() "
            "WHERE name = $1 AND server = $2",
            self._name,
            old_server,
            server,
        )
        if moved != "UPDATE 1":
            raise LogsError("the list of logs was changed meanwhile: look at macao logs, and run this again")
        await self._lift(target)
        return Moved(events, time.monotonic() - paused, within)

    async def _require_two(
        self, source: Connection[Any], target: Connection[Any], old_server: str, server: str
    ) -> None:
        """See to it that the servers are not one under two names: a lock of the one is then taken in the other.

        Raises:
            LogsError
        """
        key = lock_key(self._schema, "move")
        await source.execute("SELECT pg_advisory_lock($1)", key)
        if not await target.fetchval("SELECT pg_try_advisory_lock($1)", key):
            raise LogsError(f"{old_server} and {server} are the same database")

    async def _lay_out(
        self, source: Connection[Any], target: Connection[Any], server: str, partitions: int | None
    ) -> None:
        """See to it that the target has as many partitions as are wanted.

        Raises:
            LogsError: a copy lies there that has others.
        """
        there = await partitions_of(target, self._schema)
        begun: bool = await target.fetchval(f"SELECT EXISTS (SELECT FROM {self._schema}.events)")  # noqa: S608 - our name
        usual = there if begun else await partitions_of(source, self._schema)
        wanted = usual if partitions is None else partitions
        if wanted == there:
            return
        if begun or there != ONE_TABLE:
            shape = "one table" if there == ONE_TABLE else f"{there} partitions"
            raise LogsError(
                f"a copy of {self._schema} lies on {server} in {shape}: drop it there, if nothing needs it, "
                f"or move with --partitions {there}"
            )
        await partition(target, self._schema, wanted)

    async def _prepare(self, source: Connection[Any], target: Connection[Any]) -> None:
        """See to it that what lies on the target is the beginning of the log, and nothing else.

        Raises:
            LogsError
        """
        for table in self._fenced:
            if await source.fetchval(_COLUMNS, table) != await target.fetchval(_COLUMNS, table):
                raise LogsError(f"{table} differs on both servers: run macao migrate first")
        here = f"SELECT hash FROM {self._schema}.events WHERE position = $1"  # noqa: S608 - our name
        there = f"SELECT position, hash FROM {self._schema}.events ORDER BY position DESC LIMIT 1"  # noqa: S608 - as above
        last = await target.fetchrow(there)
        if last is not None and last["hash"] != await source.fetchval(here, last["position"]):
            raise LogsError(
                f"the target holds another {self._schema} than the source: drop it there, if nothing needs it"
            )
        await target.execute(f"SET {self._schema}.copying = 'on'")
        await target.execute(f"SET {self._schema}.appending = 'on'")

    async def _copy(self, source: Connection[Any], target: Connection[Any]) -> int:
        """Copy the next page of events, with their commands and the heads of their streams; return how many.

        Raises:
            LogsError: events are missing in the log.
        """
        schema = self._schema
        tail = f"SELECT coalesce(max(position), 0) FROM {schema}.events"  # noqa: S608 - our name
        after: int = await target.fetchval(tail)
        end: int = await source.fetchval(tail)
        last = min(after + PAGE_MAX, end)
        if last <= after:
            return 0
        page = f"position > {after} AND position <= {last}"
        events = f"SELECT * FROM {schema}.events WHERE {page} ORDER BY position"  # noqa: S608 - numbers of ours
        # Found by their ids, which have an index: of a long log a page of commands is a few.
        commands = (
            f"SELECT c.* FROM {schema}.events AS e JOIN {schema}.commands AS c "  # noqa: S608 - as above
            f"ON (c.id, c.stream, c.version) = (e.command, e.stream, e.version) WHERE {page}"
        )
        heads = (
            f"INSERT INTO {schema}.streams (id, kind, version, hash) "  # noqa: S608 - as above
            "SELECT DISTINCT ON (stream) stream, split_part(stream, '_', 1), version, hash "
            f"FROM {schema}.events WHERE {page} ORDER BY stream, version DESC "
            "ON CONFLICT (id) DO UPDATE SET version = excluded.version, hash = excluded.hash"
        )
        async with target.transaction():
            copied = await _pipe(source, target, schema, "events", events)
            if copied != last - after:
                raise LogsError(
                    f"{schema} does not hold every event from {after + 1} to {last}: it cannot be moved"
                )
            await _pipe(source, target, schema, "commands", commands)
            await target.execute(heads)
        self._told(last, end)
        return last - after

    async def _copy_tree(self, source: Connection[Any], target: Connection[Any]) -> None:
        """Copy what was signed, and the tiles, as far as they are missing."""
        tree = self._tree
        newest_sql = f"SELECT at_ms, size FROM {tree}.checkpoints ORDER BY at_ms DESC, size DESC LIMIT 1"  # noqa: S608 - our name
        last_sql = f"SELECT coalesce(max(number), -1) FROM {tree}.tiles WHERE level = $1"  # noqa: S608 - as above
        levels_sql = f"SELECT DISTINCT level FROM {tree}.tiles"  # noqa: S608 - as above
        async with target.transaction():
            at_ms, size = await target.fetchrow(newest_sql) or (0, 0)
            newer = f"(at_ms, size) > ({at_ms}, {size})"
            checkpoints = f"SELECT * FROM {tree}.checkpoints WHERE {newer} ORDER BY at_ms, size"  # noqa: S608 - numbers
            await _pipe(source, target, tree, "checkpoints", checkpoints)
            lost: int = await target.fetchval(f"SELECT coalesce(max(at_ms), 0) FROM {tree}.losses")  # noqa: S608 - as above
            losses = f"SELECT * FROM {tree}.losses WHERE at_ms > {lost}"  # noqa: S608 - a number
            await _pipe(source, target, tree, "losses", losses)
            for (level,) in await source.fetch(levels_sql):
                known = await target.fetchval(last_sql, level)
                tiles = f"SELECT * FROM {tree}.tiles WHERE level = {level} AND number > {known}"  # noqa: S608 - numbers
                await _pipe(source, target, tree, "tiles", tiles)

    async def _fence(self, connection: Connection[Any]) -> None:
        """Have nothing more be written to the log here; what is under way ends before.

        Raises:
            LogsError: something holds the log's tables for good.
        """
        for attempt in range(CATCH_UP_MAX):
            try:
                async with connection.transaction():
                    await connection.execute(f"SET LOCAL lock_timeout = '{FENCE_SECONDS}s'")
                    for table in self._fenced:
                        await connection.execute(
                            f"CREATE OR REPLACE TRIGGER fenced BEFORE INSERT OR UPDATE ON {table} "
                            f"FOR EACH STATEMENT EXECUTE FUNCTION {self._schema}.refuse_append()"
                        )
                        await connection.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER fenced")
            except asyncpg.LockNotAvailableError:
                if attempt == CATCH_UP_MAX - 1:
                    break
            else:
                return
        raise LogsError(f"something holds the tables of {self._schema}: look for a long transaction there")

    async def _lift(self, connection: Connection[Any]) -> None:
        async with connection.transaction():
            for table in self._fenced:
                await connection.execute(f"DROP TRIGGER IF EXISTS fenced ON {table}")

    async def _compare(self, source: Connection[Any], target: Connection[Any]) -> int:
        """See to it that both sides end alike; that each page arrived whole was seen to as it was copied.

        Raises:
            LogsError: they do not; the log stays where it was, fenced.
        """
        ends = (
            f"SELECT coalesce(max(position), 0), (SELECT hash FROM {self._schema}.events "  # noqa: S608 - our names
            f"ORDER BY position DESC LIMIT 1), (SELECT max(size) FROM {self._tree}.checkpoints) "
            f"FROM {self._schema}.events"
        )
        here, there = await source.fetchrow(ends), await target.fetchrow(ends)
        if here is None or there is None or tuple(here) != tuple(there):
            raise LogsError(
                f"the copy of {self._schema} does not end as the log does: the log stays where it was, fenced. "
                f"`macao logs unfence {self._name}` has it go on there; drop the copy before you try again"
            )
        events: int = here[0]
        return events


async def _pipe(source: Connection[Any], target: Connection[Any], schema: str, table: str, query: str) -> int:
    """Copy what a query finds into the table of the same shape, byte for byte; return how many rows.

    Raises:
        LogsError: not every row arrived.
    """
    chunks: list[bytes] = []

    async def take(chunk: bytes) -> None:
        chunks.append(chunk)

    async def give() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    sent = await source.copy_from_query(query, output=take, format="binary")
    arrived = await target.copy_to_table(table, schema_name=schema, source=give(), format="binary")
    if sent != arrived:
        raise LogsError(f"of {table} {sent} was read and {arrived} written")
    return int(sent.rpartition(" ")[2])
