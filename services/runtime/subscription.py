"""A reader of the whole log that never loses its place: what it writes and its checkpoint move in one transaction.

Kill it anywhere: what it wrote and how far it says it came are always those of the same position. Of several processes
with the same subscription one works, the others stand by (``checkpoint.py``): the lead is lost with the connection that
writes, with silence, or by handing it to a process that has less to do, and who lost it can commit nothing any more.

A subscription may be cut into slices, each with its own checkpoint and lead: streams are shared out among them by a
hash of their id. That is for effects in which streams have nothing to do with each other (docs/adr/0009-slices.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from enum import StrEnum
from typing import Any, Final, TypeAlias

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.runtime.bus import Bell, Ear
from services.runtime.checkpoint import (
    LEASE_SECONDS,
    WISH_SECONDS,
    Checkpoint,
    FencedError,
    Row,
    process_name,
)
from services.runtime.database import Database, connection_broke, hang_up
from services.runtime.log import EventLog, Page
from services.runtime.log.event_log import PAGE_MAX as LOG_PAGE_MAX

_logger: Final = logging.getLogger(__name__)

PAGE_MAX: Final = 1_000
"""The most events that one transaction works off."""

ATTEMPTS_MAX: Final = 5
"""How often an event that fails is tried before its stream is set aside, or the subscription stops."""

PARKED_MAX: Final = 100
"""How many streams are set aside at most; more are no matter of single events, and the subscription stops."""

STANDBY_SECONDS: Final = 1.0
"""How often a process that stands by looks whether the one that works has gone."""

HANDOVER_SECONDS: Final = 0.05
"""How often it looks when it has asked for the lead and is about to get it."""

HEARTBEAT_SECONDS: Final = 5.0
"""How often an idle subscription says that it is alive; a busy one does so with every page."""

BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

PACE_SECONDS: Final = 0.02
"""How long at least lies between two pages of a reader that has caught up. Each page costs queries and a commit: under
load it is to be some tens of events, not the one that has just rung."""

ERROR_CHARS_MAX: Final = 1_000
"""How much of an error is kept."""

Apply: TypeAlias = "Callable[[Connection[Any], list[Recorded]], Awaitable[None]]"
Forget: TypeAlias = "Callable[[Connection[Any]], Awaitable[None]]"


class LostTailError(Exception):
    """The log does not hold the event that the checkpoint stands on: its tail was lost, the tables need a rebuild."""


class PoisonError(Exception):
    """An event cannot be worked off, however often it is tried."""


class _HandOverError(Exception):
    """Another process asked for the lead, and gets it."""


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
    """One reader of one log, or of one slice of it, known by name and version.

    Args:
        version: that of the tables it fills; a new one begins at the first event, beside the old one.
        apply: works off events, in order, on a connection that is in a transaction; must not commit, and must do
            all that it does by this connection: what it did otherwise would outlive a lead that was lost meanwhile.
        slice: which of ``slices`` this one is.
        parks: whether an event that fails for good sets its stream aside; if not, it stops the subscription.
        lease_seconds: how long it may be silent before another process takes over.
        forget: empties what it has filled, so that it may begin again at the first event where the log has lost its
            tail. None: then it stops (``lost-tail``), and somebody else has to know what to do.
        types: the types of events that it is given, None for all; of others it only learns how far the log goes.
        newest: besides them, the last event of each stream that has moved on in a page, at least.
        pace_seconds: how long it lets events gather, once it has caught up; the first one after a silence never waits.
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
        slice: int = 0,
        slices: int = 1,
        parks: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        forget: Forget | None = None,
        types: Collection[str] | None = None,
        newest: bool = False,
        pace_seconds: float = PACE_SECONDS,
    ) -> None:
        if types is not None and slices > 1:
            raise ValueError("a subscription is either cut into slices or limited to types")
        self._types = None if types is None else sorted(types)
        self._newest = newest
        self._pace_seconds = pace_seconds
        self._database = database
        self._log = log
        self._bell = bell
        self._name = name
        self._version = version
        self._apply = apply
        self._window = min(page_max * slices, LOG_PAGE_MAX)
        self._slice = slice
        self._slices = slices
        self._parks = parks
        self._forget = forget
        self._lease_seconds = lease_seconds
        self._poll_seconds = database.settings.poll_seconds
        self._checkpoint = Checkpoint(log.schema, name, version, slice, process_name(), lease_seconds)
        self._read_sql = (
            f"SELECT position FROM {log.schema}.subscriptions WHERE name = $1 AND version = $2 AND slice = $3"  # noqa: S608 - no value in it
        )
        self._state = State.IDLE
        self._position = 0
        self._wanted = False
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
                if await self._lead():
                    return
            except Exception as error:
                if not connection_broke(error):
                    raise
                self._state = State.STANDBY
                self._last_error = f"no connection: {error!r}"
                _logger.warning("subscription %s lost its connection: %r", self._name, error)
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
                self._read_sql, self._name, self._version, self._slice
            )
            if reached is not None and reached >= wanted:
                return reached
            if self._state in {State.STOPPED, State.LOST_TAIL}:
                raise RuntimeError(f"subscription {self._name} is {self._state}: {self._last_error}")
            await asyncio.sleep(0.01)

    async def _may_lead(self, _connection: Connection[Any]) -> bool:
        """Say whether to try for the lead at all; asked again and again while standing by."""
        return True

    async def _lead(self) -> bool:
        """Wait for the lead, then work on one connection until something ends it; say whether it ended for good."""
        connection = await self._database.connect(
            f"subscription {self._name}", idle_in_transaction_seconds=self._lease_seconds
        )
        try:
            row = await self._stand_by(connection)
            try:
                await self._resume(connection, row)
                self._state, self._last_error = State.RUNNING, None
                with Ear() if self._bell is None else self._bell.listen() as ear:
                    await self._work_for_ever(connection, ear)
            except LostTailError as error:
                if self._forget is not None:
                    await self._begin_again(connection, self._forget, error)
                    return False
                await self._stop(connection, State.LOST_TAIL, error)
            except PoisonError as error:
                await self._stop(connection, State.STOPPED, error)
            except FencedError:
                _logger.warning("subscription %s: another process has taken the lead", self._name)
                self._state = State.STANDBY
                return False
            except _HandOverError:
                await self._checkpoint.resign(connection)
                self._state = State.STANDBY
                return False
        finally:
            await hang_up(connection)  # and with it goes the lead
        return True

    async def _stand_by(self, connection: Connection[Any]) -> Row:
        """Return the checkpoint when the lead is ours."""
        loop = asyncio.get_running_loop()
        hurry_until = 0.0
        self._state = State.STANDBY
        while True:
            if await self._may_lead(connection):
                row = await self._checkpoint.take(connection)
                if row is not None:
                    return row
                if loop.time() >= hurry_until and await self._checkpoint.wish(connection):
                    hurry_until = loop.time() + WISH_SECONDS
            await asyncio.sleep(HANDOVER_SECONDS if loop.time() < hurry_until else STANDBY_SECONDS)

    async def _resume(self, connection: Connection[Any], row: Row) -> None:
        """See to it that the log still holds the event that the checkpoint stands on, and go on from there."""
        if row.position:
            found = await self._log.read_all(row.position - 1, 1, connection=connection)
            if not found or found[0].position != row.position or found[0].event.hash != row.event_hash:
                raise LostTailError(
                    f"the log does not hold the event at position {row.position} that was worked off"
                )
        self._position = row.position
        await self._checkpoint.well(connection)

    async def _begin_again(self, connection: Connection[Any], forget: Forget, error: LostTailError) -> None:
        """Forget everything, and go back to the first event: what was worked off tells of what never was."""
        _logger.error("subscription %s begins again at the first event: %s", self._name, error)
        async with connection.transaction():
            await self._checkpoint.begin_again(connection)
            await forget(connection)
        self._state, self._last_error = State.STANDBY, str(error)

    async def _work_for_ever(self, connection: Connection[Any], ear: Ear) -> None:
        loop = asyncio.get_running_loop()
        beaten = loop.time()
        while True:
            before = self._position
            page = await self._read(connection)
            if page.position > before:
                await self._work_off(connection, page)
                beaten = loop.time()
            elif loop.time() - beaten >= HEARTBEAT_SECONDS:
                self._wanted = (await self._checkpoint.beat(connection)).wanted_by is not None
                beaten = loop.time()
            if self._wanted:
                self._wanted = False
                raise _HandOverError
            if page.position < before + self._window:
                if page.position > before:
                    await asyncio.sleep(self._pace_seconds)
                await ear.wait(self._poll_seconds)

    async def _read(self, connection: Connection[Any]) -> Page:
        """Return what comes after the checkpoint, as far as it is of this slice."""
        if self._slices > 1:
            return await self._log.read_slice(
                self._position, self._window, self._slice, self._slices, connection
            )
        if self._types is not None:
            return await self._log.read_types(
                self._position, self._window, self._types, connection, newest=self._newest
            )
        events = await self._log.read_all(self._position, self._window, connection=connection)
        if not events:
            return Page([], self._position, b"")
        if events[0].position != self._position + 1 or events[-1].position != self._position + len(events):
            raise PoisonError(f"the log has a gap after position {self._position}")
        return _page_of(events)

    async def _work_off(self, connection: Connection[Any], page: Page) -> None:
        """Work a page off. One that fails is tried again event by event, so that what is named is the event at fault.

        Raises:
            PoisonError: an event failed ``ATTEMPTS_MAX`` times and may not be set aside.
        """
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                await self._commit(connection, page)
            except FencedError:
                raise
            except Exception as error:
                if connection_broke(error):
                    raise
                self._last_error = f"position {page.events[0].position}: {error!r}"[:ERROR_CHARS_MAX]
                _logger.warning("subscription %s, attempt %d, %s", self._name, attempt, self._last_error)
                if len(page.events) == 1 and attempt == ATTEMPTS_MAX:
                    await self._give_up(connection, page, error)
                    return
            else:
                self._last_error = None
                return
            if len(page.events) > 1:
                for recorded in page.events:
                    await self._work_off(connection, _page_of([recorded]))
                if page.position > self._position:
                    await self._commit(connection, Page([], page.position, page.hash))
                return
            await asyncio.sleep(min(BACKOFF_FIRST_SECONDS * 2**attempt, BACKOFF_LAST_SECONDS))

    async def _commit(self, connection: Connection[Any], page: Page) -> None:
        """Work a page off and move the checkpoint, both or neither. What belongs to a parked stream is left out.

        Raises:
            FencedError: somebody else has the lead; nothing was done.
        """
        if page.events:
            async with connection.transaction():
                moved = await self._checkpoint.move(connection, self._position, page.position, page.hash)
                events = page.events
                if moved.parked:
                    parked = await self._checkpoint.parked_among(
                        connection, {recorded.event.stream for recorded in events}
                    )
                    events = [recorded for recorded in events if recorded.event.stream not in parked]
                if events:
                    await self._apply(connection, events)
        else:  # one statement needs no transaction around it
            moved = await self._checkpoint.move(connection, self._position, page.position, page.hash)
        self._position = page.position
        self._wanted = moved.wanted_by is not None

    async def _give_up(self, connection: Connection[Any], page: Page, error: Exception) -> None:
        """Set the stream of an event aside and go on behind it.

        Raises:
            PoisonError: it may not be set aside: something else than the event is at fault.
        """
        recorded = page.events[0]
        if not self._parks or isinstance(error, asyncpg.SyntaxOrAccessError):
            raise PoisonError(self._last_error) from error
        async with connection.transaction():
            moved = await self._checkpoint.move(connection, self._position, page.position, page.hash)
            if moved.parked >= PARKED_MAX:
                raise PoisonError(f"{PARKED_MAX} streams are parked already; {self._last_error}") from error
            await self._checkpoint.park(connection, recorded, repr(error)[:ERROR_CHARS_MAX], ATTEMPTS_MAX)
        self._position = page.position
        _logger.error(
            "subscription %s parks the stream %s from position %d: %r",
            self._name, recorded.event.stream, recorded.position, error,
        )  # fmt: skip

    async def _stop(self, connection: Connection[Any], state: State, error: Exception) -> None:
        """Leave word, here and in the table, of why there is no more to come."""
        self._state, self._last_error = state, str(error)
        _logger.error("subscription %s has stopped (%s): %s", self._name, state, error)
        await self._checkpoint.stop(connection, str(state), self._last_error)


def _page_of(events: list[Recorded]) -> Page:
    last = events[-1]
    return Page(events, last.position, last.event.hash)
