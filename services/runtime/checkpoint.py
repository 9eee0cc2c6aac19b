"""One row of a log's ``subscriptions``: how far a reader has come, and who may move it.

The lead is fenced by an epoch. Who takes the lead raises it; every effect is written in a transaction that begins by
moving the row under the writer's own epoch, and holds the row until it ends. So what two leaders write never mixes, and
one that was paused and wakes up finds another epoch and writes nothing.

Two things show that a leader is gone, and either is enough: its session has ended, seen by the advisory lock that it
held, or its row is older than the lease, as when its process was stopped but its connection lives on.
"""

from __future__ import annotations

import os
import socket
from hashlib import sha256
from typing import Any, Final

from asyncpg import Connection
from msgspec import Struct

from services.contracts.envelope import Recorded

LEASE_SECONDS: Final = 15.0
"""How long a leader may stay silent before another takes its place."""

WISH_SECONDS: Final = 10.0
"""How long it is remembered that a process with less to do asked for the lead."""


class FencedError(Exception):
    """Somebody else has the lead now, or set the checkpoint anew: nothing was written."""


class Row(Struct, frozen=True):
    """A checkpoint as it was found when the lead was taken."""

    position: int
    event_hash: bytes | None


class Moved(Struct, frozen=True):
    """What the row says while its leader moves it or shows that it lives.

    Attributes:
        parked: how many streams are set aside.
        wanted_by: a process that asks for the lead, None if nobody does.
    """

    parked: int
    wanted_by: str | None


class Checkpoint:
    """The statements about one row.

    Args:
        schema: the log's.
        slice: which of the subscription's slices.
        holder: the name of this process.
    """

    def __init__(
        self, schema: str, name: str, version: int, slice: int, holder: str, lease_seconds: float
    ) -> None:
        self._key: Final = (name, version, slice)
        self._schema = schema
        self._holder = holder
        self._lease_seconds = lease_seconds
        self._epoch = 0
        table = f"{schema}.subscriptions"
        mine = "WHERE name = $1 AND version = $2 AND slice = $3"
        held = f"{mine} AND epoch = $4"
        wish = (
            f"CASE WHEN wanted_at > clock_timestamp() - interval '{WISH_SECONDS} seconds' THEN wanted_by END"
        )
        self._wish_lock: Final = lock_key(schema, "wish")
        self._begin_sql = (
            f"INSERT INTO {table} (name, version, slice) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"  # noqa: S608 - no value in it
        )
        self._look_sql = (
            f"SELECT epoch, heartbeat_at < clock_timestamp() - make_interval(secs => $4) AS silent, "  # noqa: S608 - as above
            f"leader, {wish} AS wanted_by FROM {table} {mine}"
        )
        self._take_sql = (
            f"UPDATE {table} SET epoch = $4, leader = $5, heartbeat_at = clock_timestamp(), "  # noqa: S608 - as above
            f"wanted_by = NULL, wanted_at = NULL {mine} RETURNING position, event_hash"
        )
        self._well_sql = (
            f"UPDATE {table} SET state = 'running', last_error = NULL, "  # noqa: S608 - as above
            f"heartbeat_at = clock_timestamp() {held}"
        )
        self._move_sql = (
            f"UPDATE {table} SET position = $6, event_hash = $7, heartbeat_at = clock_timestamp(), "  # noqa: S608 - as above
            f"state = 'running', last_error = NULL {held} AND position = $5 RETURNING parked, {wish}"
        )
        self._beat_sql = (
            f"UPDATE {table} SET heartbeat_at = clock_timestamp() {held} RETURNING parked, {wish}"  # noqa: S608 - as above
        )
        self._stop_sql = (
            f"UPDATE {table} SET state = $5, last_error = $6, heartbeat_at = clock_timestamp() {held}"  # noqa: S608 - as above
        )
        self._begin_again_sql = (
            f"UPDATE {table} SET position = 0, event_hash = NULL, heartbeat_at = clock_timestamp(), "  # noqa: S608 - as above
            f"state = 'running', last_error = NULL {held}"
        )
        self._resign_sql = f"UPDATE {table} SET leader = NULL {held}"  # noqa: S608 - as above
        self._park_sql = f"UPDATE {table} SET parked = parked + 1 {held}"  # noqa: S608 - as above
        # Asked of a leader that leads two more than the asker, not counting what it has been asked for, and by one
        # asker at a time, of whom each sees the wish of the one before: then nothing goes to and fro.
        fresh = f"heartbeat_at > clock_timestamp() - make_interval(secs => {lease_seconds})"
        self._wish_sql = (
            f"UPDATE {table} AS it SET wanted_by = $4, wanted_at = clock_timestamp() {mine} AND leader <> $4 "  # noqa: S608 - as above
            f"AND ({wish}) IS NULL "
            f"AND NOT EXISTS (SELECT FROM {table} WHERE wanted_by = $4 AND ({wish}) IS NOT NULL) "
            f"AND (SELECT count(*) FROM {table} AS other WHERE other.leader = it.leader AND other.{fresh} "
            f"AND ({wish}) IS NULL) >= "
            f"2 + (SELECT count(*) FROM {table} AS other WHERE other.leader = $4 AND other.{fresh})"
        )
        self._letter_sql = (
            f"INSERT INTO {schema}.dead_letters (name, version, stream, position, type, error, attempts) "  # noqa: S608 - as above
            "VALUES ($1, $2, $3, $4, $5, $6, $7)"
        )
        self._parked_sql = (
            f"SELECT stream FROM {schema}.dead_letters WHERE name = $1 AND version = $2 AND stream = ANY($3)"  # noqa: S608 - as above
        )

    async def take(self, connection: Connection[Any]) -> Row | None:
        """Take the lead if it is to be had, on the connection that will write. It ends with that connection.

        The row is made where there is none.
        """
        found = await connection.fetchrow(self._look_sql, *self._key, self._lease_seconds)
        if found is None:
            await connection.execute(self._begin_sql, *self._key)
        elif not found["silent"] and found["leader"] and await self._is_held(connection, found["epoch"]):
            return None
        async with connection.transaction():
            # A row that its leader is just writing is skipped: whoever writes is there.
            found = await connection.fetchrow(
                f"{self._look_sql} FOR UPDATE SKIP LOCKED", *self._key, self._lease_seconds
            )
            if found is None or (found["leader"] is None and found["wanted_by"] not in {None, self._holder}):
                return None
            if not found["silent"] and not await connection.fetchval(
                "SELECT pg_try_advisory_xact_lock($1)", self._lock(found["epoch"])
            ):
                return None
            epoch = found["epoch"] + 1
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", self._lock(epoch)):
                return None
            row = await connection.fetchrow(self._take_sql, *self._key, epoch, self._holder)
        self._epoch = epoch
        return None if row is None else Row(row["position"], row["event_hash"])

    async def wish(self, connection: Connection[Any]) -> bool:
        """Ask for the lead of a process that leads at least two more; say whether the wish was left."""
        async with connection.transaction():
            if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", self._wish_lock):
                return False
            return await connection.execute(self._wish_sql, *self._key, self._holder) == "UPDATE 1"

    async def well(self, connection: Connection[Any]) -> None:
        """Say that the lead was taken and all is in order.

        Raises:
            FencedError
        """
        if await connection.execute(self._well_sql, *self._key, self._epoch) != "UPDATE 1":
            raise FencedError

    async def move(self, connection: Connection[Any], before: int, position: int, digest: bytes) -> Moved:
        """Move on, as the first statement of the transaction of the effect.

        Raises:
            FencedError
        """
        row = await connection.fetchrow(self._move_sql, *self._key, self._epoch, before, position, digest)
        if row is None:
            raise FencedError
        return Moved(row[0], row[1])

    async def beat(self, connection: Connection[Any]) -> Moved:
        """Say that the leader lives though there is nothing to do.

        Raises:
            FencedError
        """
        row = await connection.fetchrow(self._beat_sql, *self._key, self._epoch)
        if row is None:
            raise FencedError
        return Moved(row[0], row[1])

    async def stop(self, connection: Connection[Any], state: str, error: str) -> None:
        """Leave word of why nothing more is worked off."""
        await connection.execute(self._stop_sql, *self._key, self._epoch, state, error)

    async def begin_again(self, connection: Connection[Any]) -> None:
        """Go back to the beginning of the log, in the transaction that empties the tables.

        Raises:
            FencedError
        """
        if await connection.execute(self._begin_again_sql, *self._key, self._epoch) != "UPDATE 1":
            raise FencedError

    async def resign(self, connection: Connection[Any]) -> None:
        """Give up the lead; it is free at once for whoever asked for it."""
        await connection.execute(self._resign_sql, *self._key, self._epoch)

    async def park(self, connection: Connection[Any], recorded: Recorded, error: str, attempts: int) -> None:
        """Set the stream of an event aside, in the transaction that moves the checkpoint over the event."""
        name, version, _ = self._key
        event = recorded.event
        await connection.execute(
            self._letter_sql, name, version, event.stream, recorded.position, event.type, error, attempts
        )
        await connection.execute(self._park_sql, *self._key, self._epoch)

    async def parked_among(self, connection: Connection[Any], streams: set[str]) -> set[str]:
        """Return which of these streams are set aside."""
        name, version, _ = self._key
        rows = await connection.fetch(self._parked_sql, name, version, list(streams))
        return {row[0] for row in rows}

    async def _is_held(self, connection: Connection[Any], epoch: int) -> bool:
        # Outside of a transaction the lock is given back at once: this only asks.
        free: bool = await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", self._lock(epoch))
        return not free

    def _lock(self, epoch: int) -> int:
        """Return the key of the lock that the leader of an epoch holds as long as its session lives."""
        name, version, slice_ = self._key
        return lock_key(self._schema, "lead", name, str(version), str(slice_), str(epoch))


def lock_key(*parts: str) -> int:
    """Return the key of an advisory lock that is known by words."""
    return int.from_bytes(sha256("\0".join(parts).encode()).digest()[:8], "big", signed=True)


def process_name() -> str:
    """Name this process, for people and for counting who leads how much."""
    return f"{socket.gethostname()}:{os.getpid()}"
