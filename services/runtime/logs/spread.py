"""One log made of several: appends and reads of a stream go to the log that its id names, all events are read as one.

As long as there is but one log, this is that log, and what it adds is one small question every now and then: whether
there are others by now.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, Self, TypeVar

import asyncpg
from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Head, Link, Recorded
from services.contracts.ids import log_of
from services.runtime.bus import Bell
from services.runtime.connection import AnyConnection
from services.runtime.database import Database, connection_broke
from services.runtime.log import Append, Command, EventLog, Lag, LogUnavailableError, Outcome, Page, slice_of
from services.runtime.log.counts import AppendCounts
from services.runtime.log.event_log import PAGE_MAX
from services.runtime.logs.order import Source, Stretch, Taken, stretches_after, stretches_of, taken
from services.runtime.logs.place import LogDatabase
from services.runtime.logs.servers import MAIN, ServerAwayError, Servers
from services.runtime.logs.taking import Taker
from services.runtime.settings import SettingsError
from services.runtime.tasks import end
from services.runtime.traces import Traces

UNKNOWN_SECONDS: Final = 0.2
"""How often at most the list of logs is read because somebody names one that is not in it."""

LOOK_SECONDS: Final = 1.0
"""How long a log may take to answer who only wants to know how things are."""

APART_POOL_MAX: Final = 3
"""Connections of a log that is read apart: no more than a pool has at least."""

_LIST: Final = "SELECT name, server, opens FROM macao_runtime.logs ORDER BY name"
_ALONE: Final = "NOT EXISTS (SELECT FROM macao_runtime.logs WHERE name <> 'main')"
T = TypeVar("T")
_logger: Final = logging.getLogger(__name__)


class _Part(Struct):
    """A log besides the main one.

    Attributes:
        opens: whether new matches begin in it.
        writes: whether its writers are connected.
        tried: whether it has been tried to reach it at all.
    """

    log: EventLog
    place: LogDatabase
    opens: bool
    writes: bool = False
    tried: bool = False


class SpreadLog(EventLog):
    """All logs, the main one among them; the list of them is a table of the main database.

    Args:
        database: the main one.
        writes: whether anything is appended by it.
        told: called now and then with each log's name, and whether it has lost its tail.
    """

    def __init__(
        self,
        database: Database,
        bell: Bell | None = None,
        *,
        counts: AppendCounts | None = None,
        traces: Traces | None = None,
        writes: bool = True,
        told: Callable[[str, bool], None] = lambda _log, _lost: None,
    ) -> None:
        """Wire everything.

        Raises:
            SettingsError: the settings name servers in a way that cannot be used.
        """
        super().__init__(database, bell, counts=counts, traces=traces)
        self._bell = bell
        self._counts = counts
        self._writes = writes
        self._servers = Servers(database, database.settings)
        self._told = told
        self._taker = Taker(database, bell, lambda: self.parts)
        self._others: dict[str, _Part] = {}
        self._main_opens = True
        self._listed_at = 0.0
        self._opening = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._asked: set[asyncio.Task[Any]] = set()
        # Once there are several, the order of the main log alone is nobody's any more: not for a moment.
        self._all_sql = self._all_sql.replace("WHERE position > $1", f"WHERE position > $1 AND {_ALONE}")
        self._types_sql = self._types_sql.replace("WHERE position > $1", f"WHERE position > $1 AND {_ALONE}")
        self._newest_sql = self._newest_sql.replace(
            "WHERE position > $1", f"WHERE position > $1 AND {_ALONE}"
        )
        self._end_sql = self._end_sql.replace("WHERE position <= $1", f"WHERE position <= $1 AND {_ALONE}")

    async def __aenter__(self) -> Self:
        """Open everything; a log whose server is away is tried again and again.

        Raises:
            SettingsError: a log lives on a server that the settings do not name.
        """
        if self._writes:
            await super().__aenter__()
        try:
            await self._read_list()
            self._require_servers()
            await self._open_parts()
        except BaseException:
            await self._shut()
            raise
        if self._writes:
            self._tasks = [
                asyncio.create_task(self._watch(), name="logs"),
                asyncio.create_task(self._reach(), name="logs-reach"),
            ]
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, []
        await end(*tasks, *self._asked)
        await self._shut()

    @property
    def parts(self) -> tuple[EventLog, ...]:
        """The logs that it consists of, the main one (which is itself) first."""
        return (self, *(part.log for part in self._others.values()))

    @property
    def connections(self) -> int:
        """How many connections the writers of all logs have needed so far."""
        if not self._others:
            return super().connections
        return super().connections + sum(part.log.connections for part in self._others.values())

    def part_of(self, stream: str) -> EventLog:
        """Return the log that a stream lives in; the main one for a log that is not known."""
        part = self._others.get(log_of(stream)) if self._others else None
        return self if part is None else part.log

    def log_for(self, entropy: bytes) -> str:
        """Name the log that a new match begins in: each that opens has the same share; one that is away has none."""
        opening = [self.name] if self._main_opens else []
        opening += [name for name, part in self._others.items() if part.opens and part.writes]
        return opening[int.from_bytes(entropy, "big") % len(opening)] if opening else self.name

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[EventLog]:
        """Give a log to read from in another event loop: where there are several, by pools of its own."""
        if not self._others:
            yield self
            return
        settings = replace(self.database.settings, database_pool_max=APART_POOL_MAX)
        async with Database(settings) as database, SpreadLog(database, writes=False) as log:
            yield log

    async def append(self, item: Append) -> Outcome:
        """Append to the log of the stream; see ``EventLog.append``."""
        log = log_of(item.stream)
        if log == self.name:
            return await super().append(item)
        part = await self._known(log)
        if part is None or not part.writes:
            raise LogUnavailableError(f"the log {log} cannot be reached from here")
        return await part.log.append(item)

    async def find_command(self, command: str, stream: str | None = None) -> Command | None:
        """Return a committed command of the log that a stream lives in."""
        part = await self._part(stream or self.name)
        if part is self:
            return await super().find_command(command)
        return None if part is None else await part.find_command(command)

    async def head_of(self, stream: str) -> Head | None:
        """Return the end of a stream, or None if there is no such stream."""
        part = await self._part(stream)
        if part is self:
            return await super().head_of(stream)
        return None if part is None else await part.head_of(stream)

    async def heads_of(self, streams: Iterable[str]) -> dict[str, int]:
        """Return the versions of those of these streams that there are; none of a log that is away."""
        if not self._others:
            return await super().heads_of(streams)
        by_log: dict[str, list[str]] = defaultdict(list)
        for stream in streams:
            by_log[log_of(stream)].append(stream)
        heads = await super().heads_of(by_log.pop(self.name, []))
        for log, of_log in by_log.items():
            part = self._others.get(log)
            if part is None:
                continue
            nothing: dict[str, int] = {}
            heads |= await self._or_else(part.log.heads_of(of_log), nothing)
        return heads

    async def read_stream(
        self, stream: str, after: int = 0, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return a stream's events, with the positions that they have in their own log."""
        part = await self._part(stream)
        if part is self:
            return await super().read_stream(stream, after, limit, connection=connection)
        return [] if part is None else await part.read_stream(stream, after, limit)

    async def read_links(
        self, stream: str, after: int = 0, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Link]:
        """Return what is needed of a stream's events to fold them."""
        part = await self._part(stream)
        if part is self:
            return await super().read_links(stream, after, limit, connection=connection)
        return [] if part is None else await part.read_links(stream, after, limit)

    async def read_stream_in_order(
        self, stream: str, after: int, limit: int, connection: AnyConnection
    ) -> list[Recorded]:
        """Return a stream's events with their positions in the reading order, as far as they are there."""
        found = await self.read_stream(stream, after, limit, connection=connection)
        if not self._others or not found:
            return found
        placed: list[Recorded] = []
        stretches = iter(await stretches_of(connection, log_of(stream), found[0].position, len(found)))
        stretch = next(stretches, None)
        for recorded in found:
            while stretch is not None and stretch.log_position < recorded.position:
                stretch = next(stretches, None)
            if stretch is None:
                # More stretches than events lie between two of them: begin anew from here.
                return placed + await self._rest_in_order(recorded, limit - len(placed), connection)
            placed.append(replace(recorded, position=recorded.position + stretch.ahead))
        return placed

    async def read_all(
        self, after: int, limit: int = 1_000, *, connection: AnyConnection | None = None
    ) -> list[Recorded]:
        """Return the events of all logs behind a position of the reading order."""
        if not self._others:
            return await super().read_all(after, limit, connection=connection)
        source = self.database.pool if connection is None else connection
        return await self._gather(await stretches_after(source, after, min(limit, PAGE_MAX)))

    async def read_slice(
        self, after: int, window: int, slice: int, slices: int, connection: AnyConnection
    ) -> Page:
        """Return the events of one slice; where there are several logs, what belongs to others is left out here."""
        if not self._others:
            return await super().read_slice(after, window, slice, slices, connection)
        return await self._picked(
            after, window, connection, lambda recorded: slice_of(recorded.event.stream, slices) == slice
        )

    async def read_types(
        self,
        after: int,
        window: int,
        types: Collection[str],
        connection: AnyConnection,
        *,
        newest: bool = False,
    ) -> Page:
        """Return the events of these types; where there are several logs, the others are left out here."""
        if not self._others:
            return await super().read_types(after, window, types, connection, newest=newest)
        return await self._picked(
            after, window, connection, lambda recorded: newest or recorded.event.type in types
        )

    async def head_position(self, *, connection: AnyConnection | None = None) -> int:
        """Return how many events there are in all logs; the last has that position, or will have it in a moment."""
        if not self._others:
            return await super().head_position(connection=connection)
        source = self.database.pool if connection is None else connection
        return sum([end for _, _, end in await self._ends(source)])

    async def hash_at(self, position: int, connection: AnyConnection) -> bytes | None:
        """Return the hash of the event at a position of the reading order, None where there is none."""
        if not self._others:
            return await super().hash_at(position, connection)
        found = await self.read_all(position - 1, 1, connection=connection)
        return found[0].event.hash if found else None

    async def lag_after(self, position: int, connection: AnyConnection) -> Lag:
        """Return what a reader has before it, what is not in the reading order yet included."""
        if not self._others:
            return await super().lag_after(position, connection)
        ends = await self._ends(connection)
        waiting = [(part, begun + 1) for part, begun, end in ends if end > begun]
        for stretch in await stretches_after(connection, position, 1):
            part = self if stretch.log == self.name else await self._part_named(stretch.log)
            waiting.append((part, stretch.log_position))
        ages = await asyncio.gather(*(self._or_else(part.age_of(at), 0.0) for part, at in waiting))
        return Lag(sum(end for _, _, end in ends), max(ages, default=0.0))

    async def _picked(
        self, after: int, window: int, connection: AnyConnection, wanted: Callable[[Recorded], bool]
    ) -> Page:
        page = await self.read_all(after, window, connection=connection)
        if not page:
            return Page([], after, b"")
        return Page(
            [recorded for recorded in page if wanted(recorded)], page[-1].position, page[-1].event.hash
        )

    async def _gather(self, stretches: list[Stretch]) -> list[Recorded]:
        """Read stretches: of each log in one piece. What is missing in one ends the page before it."""
        spans: dict[str, tuple[int, int]] = {}
        for one in stretches:
            begin = spans.get(one.log, (one.log_position - one.events, 0))[0]
            spans[one.log] = (begin, one.log_position)
        parts = [await self._part_named(log) for log in spans]
        pieces = await asyncio.gather(
            *(part.read_between(*span) for part, span in zip(parts, spans.values(), strict=True))
        )
        ahead_of = {log: iter(piece) for log, piece in zip(spans, pieces, strict=True)}
        page: list[Recorded] = []
        for stretch in stretches:
            for at in range(stretch.log_position - stretch.events + 1, stretch.log_position + 1):
                recorded = next(ahead_of[stretch.log], None)
                if recorded is None or recorded.position != at:
                    return page
                page.append(replace(recorded, position=at + stretch.ahead))
        return page

    async def _rest_in_order(self, first: Recorded, limit: int, connection: AnyConnection) -> list[Recorded]:
        """Return what ``read_stream_in_order`` does, from an event on, if that is in the order by now."""
        stream, log = first.event.stream, log_of(first.event.stream)
        if not await stretches_of(connection, log, first.position, 1):
            return []
        return await self.read_stream_in_order(stream, first.event.version - 1, limit, connection)

    async def _ends(self, source: Source) -> list[tuple[EventLog, int, int]]:
        """Return of each log how far it is in the order, and where it ends; of one that is away, the same twice."""
        begun = {one.log: one.position for one in await taken(source)}
        parts = [(part, begun.get(part.name, 0)) for part in self.parts]
        ends = await asyncio.gather(*(self._or_else(part.tail(), before) for part, before in parts))
        return [(part, before, max(before, end)) for (part, before), end in zip(parts, ends, strict=True)]

    async def _or_else(self, asked: Coroutine[Any, Any, T], otherwise: T) -> T:
        """Return what a log answers, and something else where it is away; nobody who only looks waits for long.

        What was asked is not cancelled: the driver would wait for the same server to confirm that.
        """
        task = asyncio.create_task(asked)
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)
        await asyncio.wait({task}, timeout=LOOK_SECONDS)
        if not task.done():
            task.add_done_callback(_forget)
            return otherwise
        error = task.exception()
        if error is None:
            return task.result()
        if not connection_broke(error):
            raise error
        return otherwise

    async def _part(self, stream: str) -> EventLog | None:
        """Return the log that a stream lives in, None if there is none of that name."""
        log = log_of(stream)
        if log == self.name:
            return self
        part = await self._known(log)
        return None if part is None else part.log

    async def _part_named(self, log: str) -> EventLog:
        """Return a log that stands in the reading order.

        Raises:
            ServerAwayError: this process does not know it yet.
        """
        if log == self.name:
            return self
        part = await self._known(log)
        if part is None:
            raise ServerAwayError(f"the log {log} is not known here")
        return part.log

    async def _known(self, log: str) -> _Part | None:
        """Return a log by its name; one that is not in the list may have come to be since that was read."""
        part = self._others.get(log)
        if part is None:
            await self._read_list_soon()
            part = self._others.get(log)
        if part is not None and not part.tried:
            await self._open_parts()
        return part

    async def _read_list_soon(self) -> None:
        """Read the list after now, together with all who ask meanwhile, and not too often."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        async with self._asking:
            if self._listed_at <= asked:
                await asyncio.sleep(max(0.0, self._listed_at + UNKNOWN_SECONDS - loop.time()))
                await self._read_list()

    async def _read_list(self) -> None:
        """Read which logs there are and where they live. A log never goes away."""
        begun = asyncio.get_running_loop().time()
        rows = await self.database.pool.fetch(_LIST)
        self._listed_at = begun
        for name, server, opens in rows:
            if name == MAIN:
                self._main_opens = opens
                continue
            part = self._others.get(name)
            if part is None:
                place = LogDatabase(self._servers, self.database, server, self._read_list)
                log = EventLog(
                    place, self._bell, name=name, counts=self._counts, traces=self._traces, place=place.where
                )
                self._others[name] = part = _Part(log, place, opens)
            if part.place.server != server:
                _logger.info("the log %s has moved from the server %s to %s", name, part.place.server, server)
                try:
                    await self._servers.open(
                        server
                    )  # until that is done, who reads goes on reading where it was
                except ServerAwayError as error:
                    _logger.warning("the log %s cannot be reached: %s", name, error)
                part.place.server = server
            part.opens = opens

    async def _open_parts(self) -> None:
        """Reach every log that is not reached yet."""
        async with self._opening:
            for name, part in list(self._others.items()):
                try:
                    await part.place.open()
                    if self._writes and not part.writes:
                        await part.log.__aenter__()
                        part.writes = True
                except Exception as error:
                    if not connection_broke(error):
                        raise
                    if not part.tried:
                        _logger.warning("the log %s cannot be reached: %r", name, error)
                finally:
                    part.tried = True

    def _require_servers(self) -> None:
        for name, part in self._others.items():
            if part.place.server not in self._servers:
                raise SettingsError(
                    f"the log {name} lives on the server {part.place.server}, which MACAO_LOG_SERVERS does not name"
                )

    async def _watch(self) -> None:
        """Keep the list, and lead the reading order as soon as there is one to lead."""
        taking: asyncio.Task[None] | None = None
        try:
            while True:
                if taking is None and self._others:
                    taking = asyncio.create_task(self._taker.run(), name="reading-order")
                await asyncio.sleep(self.database.settings.poll_seconds)
                try:
                    await self._read_list()
                    await self._look_at_tails()
                except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                    _logger.warning("the list of logs could not be read: %r", error)
        finally:
            if taking is not None:
                await end(taking)

    async def _look_at_tails(self) -> None:
        """Say of each log whether it holds the event up to which it was read.

        Every process looks, so that nobody has to know which of them leads.
        """
        if not self._others:
            self._told(self.name, False)
            return
        for one in await taken(self.database.pool):
            part: EventLog | None = self if one.log == self.name else None
            if one.log in self._others:
                part = self._others[one.log].log
            if part is None:
                continue  # added a moment ago
            asked = part.place()
            lost = await self._or_else(_lost_tail(part, one), None)
            if lost:
                await self._read_list()
            # Where it has moved meanwhile, its old place was asked.
            if lost is not None and part.place() == asked:
                self._told(one.log, lost)

    async def _reach(self) -> None:
        """Try to reach what is away, however long each attempt takes."""
        while True:
            await asyncio.sleep(self.database.settings.poll_seconds)
            await self._open_parts()

    async def _shut(self) -> None:
        for part in self._others.values():
            if part.writes:
                part.writes = False
                await part.log.__aexit__(None, None, None)
        if self._writes:
            await super().__aexit__()
        self._others.clear()
        await self._servers.close()


async def _lost_tail(part: EventLog, at: Taken) -> bool:
    """Say whether a log does not hold the event up to which it was read."""
    try:
        return await part.end_after(at.position, at.hash, 1) is None
    except asyncpg.UndefinedTableError:
        return at.position > 0  # a server without so much as its schema


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
