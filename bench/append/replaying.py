"""Matches replayed from the database, beside reading and decoding the same rows without folding them.

By stream, as a match is loaded: of each event only what a fold needs is read, so that a further baseline reads just
these columns; what is asked for is the ratio to the whole rows. And by position in pages, as a projection reads, with
matches side by side. One connection, one task: a second of the clock is the reader's and its server process' in turn,
and what the reader takes of the processor is counted beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from time import perf_counter, process_time
from typing import Any, Final, TypeVar

import asyncpg
import msgspec
from msgspec import Struct

from bench.kernel.playouts import record
from services.contracts.envelope import Head, Link, Recorded, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import MatchFact, draft, fact_of
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.database import Database
from services.runtime.log import Append, Appended, EventLog, codec
from services.runtime.settings import Settings

GAMES: Final = {"dice-race": 0.6, "cards-places": 0.4}
"""Shares of the events."""
SEATS: Final = 4
PAGE: Final = 1_000
AT_A_TIME: Final = 64
SEED_STEP: Final = 1_000_000

BY_STREAM, IN_PAGES = "by stream", "in pages"
BARE, DECODED = "whole rows and decoder alone", "read and decoded by us"
BARE_LIGHT = "fewer columns and decoder alone"
REPLAYED, AHEAD = "replayed", "replayed, reading ahead"

_BY_STREAM: Final = (
    f"SELECT {codec.EVENT_COLUMNS} FROM macao_log.events WHERE stream = $1 AND version > $2 "
    "ORDER BY version LIMIT $3"
)
_LIGHT: Final = (
    f"SELECT {codec.LINK_COLUMNS} FROM macao_log.events WHERE stream = $1 AND version > $2 "
    "ORDER BY version LIMIT $3"
)
_IN_PAGES: Final = (
    f"SELECT {codec.EVENT_COLUMNS} FROM macao_log.events WHERE position > $1 ORDER BY position LIMIT $2"
)
_BODY: Final = 8
_LIGHT_BODY: Final = 7
_POSITION: Final = 14
_decode: Final = msgspec.json.Decoder(MatchFact).decode


class Read(Struct, frozen=True):
    """How fast everything was read once.

    Attributes:
        a_second: events a second of the clock.
        a_busy_second: events a second of this process' processor.
    """

    a_second: float
    a_busy_second: float


T = TypeVar("T")
Reading = Callable[[], Awaitable[int]]
Reads = dict[tuple[str, str], list[Read]]


async def replayed(database_url: str, events: int, rounds: int) -> Reads:
    """Fill an empty log with so many events of matches, and read them in every way, in turn."""
    async with (
        Database(Settings(database_url=database_url, secret_key="-")) as database,
        EventLog(database) as log,
    ):
        streams = await _fill(log, events)
        connection: asyncpg.Connection[Any] = await asyncpg.connect(database_url)
        await connection.execute("VACUUM (ANALYZE) macao_log.events")
        reads: Reads = {}
        try:
            for _ in range(rounds):
                for which, reading in _Reader(connection, log, streams).ways.items():
                    reads.setdefault(which, []).append(await _timed(reading))
        finally:
            await connection.close()
        return reads


async def _fill(log: EventLog, events: int) -> list[str]:
    """Append whole matches, each by one command, until there are so many events; return their streams."""
    appends = list(_matches(events))

    async def append(item: Append) -> None:
        outcome = await log.append(item)
        if not isinstance(outcome, Appended):
            raise TypeError(f"not appended: {outcome}")

    for at in range(0, len(appends), AT_A_TIME):
        await asyncio.gather(*(append(item) for item in appends[at : at + AT_A_TIME]))
    return [item.stream for item in appends]


def _matches(events: int) -> Iterator[Append]:
    for number, (game, share) in enumerate(GAMES.items()):
        rules = CATALOGUE.game(game)
        assert rules is not None
        made, seed = 0, number * SEED_STEP
        while made < share * events:
            facts = record(rules, SEATS, seed).facts
            stream, command = f"m_{seed:026d}", f"c_{seed:026d}"
            drafts = [draft(fact, fact, None) for fact in facts]
            drawn = chain(
                Head(), drafts, stream=stream, actor="p_bench", command=command, at_ms=0, cause=None
            )
            yield Append(stream, "m", Head(), tuple(drawn), command, bytes(32), b"{}")
            made, seed = made + len(facts), seed + 1


class _Reader:
    """Reads a whole log, in every way; each returns how many events there were."""

    def __init__(self, connection: Any, log: EventLog, streams: list[str]) -> None:
        self._connection = connection
        self._log = log
        self._streams = streams

    @property
    def ways(self) -> dict[tuple[str, str], Reading]:
        """All of them."""
        return {
            (BY_STREAM, BARE): self.bare_streams,
            (BY_STREAM, BARE_LIGHT): self.bare_light_streams,
            (BY_STREAM, DECODED): self.decoded_streams,
            (BY_STREAM, REPLAYED): self.replayed_streams,
            (BY_STREAM, AHEAD): self.replayed_streams_ahead,
            (IN_PAGES, BARE): self.bare_pages,
            (IN_PAGES, DECODED): self.decoded_pages,
            (IN_PAGES, REPLAYED): self.replayed_pages,
            (IN_PAGES, AHEAD): self.replayed_pages_ahead,
        }

    async def bare_streams(self) -> int:
        """Read rows stream by stream, and decode their bodies."""
        return await self._bare_streams(_BY_STREAM, _BODY)

    async def bare_light_streams(self) -> int:
        """The same, of each row only the columns that a fold needs."""
        return await self._bare_streams(_LIGHT, _LIGHT_BODY)

    async def bare_pages(self) -> int:
        """Read rows by position, and decode their bodies."""
        count = after = 0
        while rows := await self._connection.fetch(_IN_PAGES, after, PAGE):
            for row in rows:
                _decode(row[_BODY])
            count, after = count + len(rows), rows[-1][_POSITION]
        return count

    async def decoded_streams(self) -> int:
        """Read events from the log stream by stream, and decode them."""
        count = 0
        for stream in self._streams:
            async for page in self._stream(stream):
                for link in page:
                    fact_of(link)
                count += len(page)
        return count

    async def decoded_pages(self) -> int:
        """Read events from the log by position, and decode them."""
        count = 0
        async for page in self._pages():
            for one in page:
                fact_of(one.event)
            count += len(page)
        return count

    async def replayed_streams(self) -> int:
        """Replay one match after another."""
        return await self._one_by_one(self._all_streams())

    async def replayed_streams_ahead(self) -> int:
        """The same, with the next page asked for before this one is folded."""
        return await self._one_by_one(_ahead(self._all_streams()))

    async def replayed_pages(self) -> int:
        """Replay all matches, side by side as they stand in the log."""
        return await self._side_by_side(self._pages())

    async def replayed_pages_ahead(self) -> int:
        """The same, with the next page asked for before this one is folded."""
        return await self._side_by_side(_ahead(self._pages()))

    async def _bare_streams(self, sql: str, body: int) -> int:
        count = 0
        for stream in self._streams:
            after = 0
            while rows := await self._connection.fetch(sql, stream, after, PAGE):
                for row in rows:
                    _decode(row[body])
                count, after = count + len(rows), after + len(rows)
                if len(rows) < PAGE:
                    break
        return count

    async def _one_by_one(self, pages: AsyncIterator[list[Link]]) -> int:
        count = over = 0
        match: matches.Match | None = None
        async for page in pages:
            facts = [fact_of(link) for link in page]
            match = _after(None if page[0].version == 1 else match, facts)
            count, over = count + len(page), over + match.over
        assert over >= len(self._streams)
        return count

    async def _side_by_side(self, pages: AsyncIterator[list[Recorded]]) -> int:
        count = 0
        live: dict[str, matches.Match] = {}
        async for page in pages:
            facts: dict[str, list[Fact]] = {}
            for one in page:
                facts.setdefault(one.event.stream, []).append(fact_of(one.event))
            for stream, of_stream in facts.items():
                live[stream] = _after(live.get(stream), of_stream)
            count += len(page)
        assert all(live[stream].over for stream in self._streams)
        return count

    async def _all_streams(self) -> AsyncIterator[list[Link]]:
        for stream in self._streams:
            async for page in self._stream(stream):
                yield page

    async def _stream(self, stream: str) -> AsyncIterator[list[Link]]:
        after = 0
        while page := await self._log.read_links(stream, after, PAGE, connection=self._connection):
            yield page
            after += len(page)
            if len(page) < PAGE:
                return

    async def _pages(self) -> AsyncIterator[list[Recorded]]:
        after = 0
        while page := await self._log.read_all(after, PAGE, connection=self._connection):
            yield page
            after = page[-1].position


async def _ahead(pages: AsyncIterator[T]) -> AsyncIterator[T]:
    """Yield the same pages, each while the next one is on its way: the server works while this process folds."""

    async def following() -> T | None:
        return await anext(pages, None)

    coming = asyncio.create_task(following())
    while (page := await coming) is not None:
        coming = asyncio.create_task(following())
        await asyncio.sleep(0)  # the question goes out first
        yield page


def _after(match: matches.Match | None, facts: list[Fact]) -> matches.Match:
    return matches.fold(facts, CATALOGUE) if match is None else matches.evolve_all(match, facts)


async def _timed(reading: Reading) -> Read:
    begun, busy = perf_counter(), process_time()
    count = await reading()
    return Read(count / (perf_counter() - begun), count / (process_time() - busy))
