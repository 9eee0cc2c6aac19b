"""A reader of the whole log that never loses its place: what it writes and its checkpoint move in one transaction.

Kill it anywhere: what it wrote and how far it says it came are always those of the same position. Of several processes
with the same subscription one works, the others stand by; the advisory lock that decides it belongs to the very
connection that writes, so a process that lost its connection has lost the lock and the transaction together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, TypeAlias

from asyncpg import Connection
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.runtime.bus import Bell, Ear
from services.runtime.database import Database, connection_broke, hang_up
from services.runtime.log import EventLog

_logger: Final = logging.getLogger(__name__)

PAGE_MAX: Final = 1_000
"""The most events that one transaction works off."""

ATTEMPTS_MAX: Final = 5
"""How often a page that fails is tried before the subscription stops."""

STANDBY_SECONDS: Final = 1.0
"""How often a process that stands by looks whether the one that works has gone."""

HEARTBEAT_SECONDS: Final = 5.0
"""How often an idle subscription says that it is alive; a busy one does so with every page."""

BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

Apply: TypeAlias = "Callable[[Connection[Any], list[Recorded]], Awaitable[None]]"


class LostTailError(Exception):
    """The log does not hold the event that the checkpoint stands on: its tail was lost, the tables need a rebuild."""


class PoisonError(Exception):
    """An event cannot be worked off, however often it is tried."""


class State(StrEnum):
    """What a subscription is doing.

    ``standby``: another process works, or there is no connection. ``stopped``: an event failed for good.
    ``lost-tail``: a rebuild is needed. The last two stay until somebody acts.
    """

    IDLE = "idle"
    STANDBY = "standby"
    RUNNING = "running"
    STOPPED = "stopped"
    LOST_TAIL = "lost-tail"


class Status(Struct, frozen=True):
    """How a subscription is, as its own process sees it."""

    name: str
    version: int
    state: State
    position: int
    last_error: str | None


class Subscription:
    """One reader of one log, known by name and version.

    Args:
        version: that of the tables it fills; a new one begins at the first event, beside the old one.
        apply: works off events, in order, on a connection that is in a transaction; must not commit.
    """

    def __init__(
        self,
        database: Database,
        log: EventLog,
        bell: Bell | None,
        name: str,
        version: int,
        apply: Apply,
        *,
        page_max: int = PAGE_MAX,
    ) -> None:
        self._database = database
        self._log = log
        self._bell = bell
        self._name = name
        self._version = version
        self._apply = apply
        self._page_max = page_max
        self._poll_seconds = database.settings.poll_seconds
        table = f"{log.schema}.subscriptions"
        mine = "WHERE name = $1 AND version = $2"
        self._begin_sql = f"INSERT INTO {table} (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING"  # noqa: S608 - no value in it
        self._read_sql = f"SELECT position, event_hash FROM {table} {mine}"  # noqa: S608 - as above
        self._beat_sql = f"UPDATE {table} SET heartbeat_at = now() {mine}"  # noqa: S608 - as above
        self._stop_sql = f"UPDATE {table} SET state = $3, last_error = $4, heartbeat_at = now() {mine}"  # noqa: S608 - as above
        self._move_sql = (
            f"UPDATE {table} SET position = $4, event_hash = $5, heartbeat_at = now(), state = 'running', "  # noqa: S608 - as above
            f"last_error = NULL {mine} AND position = $3"
        )
        self._lock = int.from_bytes(
            sha256(f"{log.schema}\0{name}\0{version}".encode()).digest()[:8], "big", signed=True
        )
        self._state = State.IDLE
        self._position = 0
        self._last_error: str | None = None

    @property
    def status(self) -> Status:
        """How it is going."""
        return Status(self._name, self._version, self._state, self._position, self._last_error)

    async def run(self) -> None:
        """Work until cancelled, or until an event failed for good or the log lost its tail; ``status`` says which.

        A database that is away is waited for, however long it takes.
        """
        pause_seconds = BACKOFF_FIRST_SECONDS
        self._state, self._last_error = State.STANDBY, None
        while True:
            position_before = self._position
            try:
                await self._lead()
            except Exception as error:
                if not connection_broke(error):
                    raise
                self._state = State.STANDBY
                self._last_error = f"no connection: {error!r}"
                _logger.warning("subscription %s lost its connection: %r", self._name, error)
            else:
                return
            if self._position != position_before:
                pause_seconds = BACKOFF_FIRST_SECONDS
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)

    async def caught_up(self, position: int | None = None) -> int:
        """Wait until all up to ``position`` (by default: the log's present end) is worked off, here or elsewhere.

        Raises:
            RuntimeError: the subscription, in this process, has stopped.
        """
        wanted = await self._log.head_position() if position is None else position
        while True:
            reached: int | None = await self._database.pool.fetchval(
                self._read_sql, self._name, self._version
            )
            if reached is not None and reached >= wanted:
                return reached
            if self._state in {State.STOPPED, State.LOST_TAIL}:
                raise RuntimeError(f"subscription {self._name} is {self._state}: {self._last_error}")
            await asyncio.sleep(0.01)

    async def _lead(self) -> None:
        """Wait for the lead, then work on one connection until something ends it."""
        connection = await self._database.connect(f"subscription {self._name}")
        try:
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", self._lock):
                self._state = State.STANDBY
                await asyncio.sleep(STANDBY_SECONDS)
            try:
                await self._resume(connection)
                self._state, self._last_error = State.RUNNING, None
                with Ear() if self._bell is None else self._bell.listen() as ear:
                    await self._work_for_ever(connection, ear)
            except LostTailError as error:
                await self._stop(connection, State.LOST_TAIL, error)
            except PoisonError as error:
                await self._stop(connection, State.STOPPED, error)
        finally:
            await hang_up(connection)  # and with it goes the lead

    async def _resume(self, connection: Connection[Any]) -> None:
        """Find the checkpoint, and see to it that the log still holds the event that it stands on."""
        await connection.execute(self._begin_sql, self._name, self._version)
        row = await connection.fetchrow(self._read_sql, self._name, self._version)
        position, digest = (0, None) if row is None else (row[0], row[1])
        if position:
            found = await self._log.read_all(position - 1, 1, connection=connection)
            if not found or found[0].position != position or found[0].event.hash != digest:
                raise LostTailError(
                    f"the log does not hold the event at position {position} that was worked off"
                )
        self._position = position

    async def _work_for_ever(self, connection: Connection[Any], ear: Ear) -> None:
        loop = asyncio.get_running_loop()
        beaten = loop.time()
        while True:
            page = await self._log.read_all(self._position, self._page_max, connection=connection)
            if page:
                if page[0].position != self._position + 1 or page[-1].position != self._position + len(page):
                    raise PoisonError(f"the log has a gap after position {self._position}")
                await self._work_off(connection, page)
                beaten = loop.time()
                if len(page) == self._page_max:
                    continue
            elif loop.time() - beaten >= HEARTBEAT_SECONDS:
                await connection.execute(self._beat_sql, self._name, self._version)
                beaten = loop.time()
            await ear.wait(self._poll_seconds)

    async def _work_off(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Work a page off. One that fails is tried again event by event, so that what is named is the event at fault.

        Raises:
            PoisonError: an event failed ``ATTEMPTS_MAX`` times.
        """
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                await self._commit(connection, page)
            except Exception as error:
                if connection_broke(error):
                    raise
                self._last_error = f"position {page[0].position}: {error!r}"
                _logger.warning("subscription %s, attempt %d, %s", self._name, attempt, self._last_error)
                if len(page) == 1 and attempt == ATTEMPTS_MAX:
                    raise PoisonError(self._last_error) from error
            else:
                self._last_error = None
                return
            if len(page) > 1:
                for recorded in page:
                    await self._work_off(connection, [recorded])
                return
            await asyncio.sleep(min(BACKOFF_FIRST_SECONDS * 2**attempt, BACKOFF_LAST_SECONDS))

    async def _commit(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Work a page off and move the checkpoint, both or neither."""
        last = page[-1]
        async with connection.transaction():
            await self._apply(connection, page)
            moved = await connection.execute(
                self._move_sql, self._name, self._version, self._position, last.position, last.event.hash
            )
            if moved != "UPDATE 1":
                raise PoisonError(f"the checkpoint is no longer at {self._position}: something else moved it")
        self._position = last.position

    async def _stop(self, connection: Connection[Any], state: State, error: Exception) -> None:
        """Leave word, here and in the table, of why there is no more to come."""
        self._state, self._last_error = state, str(error)
        _logger.error("subscription %s has stopped (%s): %s", self._name, state, error)
        await connection.execute(self._stop_sql, self._name, self._version, str(state), self._last_error)
