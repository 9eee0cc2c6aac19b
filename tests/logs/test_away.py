"""A log's server that does not answer holds up nobody but its own matches, whose clocks do not run meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import pytest

from services.engine.clocks.absences import Absences
from services.engine.clocks.ticker import Ticker
from services.runtime.log import LogUnavailableError
from services.runtime.logs import SpreadLog
from services.runtime.logs.adding import Sites, add_log
from tests.http.app import TurnableClock
from tests.logs.conftest import spread, stream_in, write
from tests.support.databases import PARTITIONS, Databases
from tests.support.proxy import Proxy


@pytest.fixture
async def far(database: str, databases: Databases) -> AsyncIterator[tuple[SpreadLog, Proxy]]:
    """Main and north, the latter behind a proxy."""
    async with databases.fresh() as other:
        parts = urlsplit(other)
        async with Proxy(parts.hostname or "", parts.port or 0) as proxy:
            login = parts.netloc.rpartition("@")[0]
            url = urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{proxy.port}"))
            await add_log(Sites(database, {"b": url}), "north", "b", PARTITIONS)
            async with spread(database, f"b={url}") as log:
                yield log, proxy
                proxy.frozen = False
                proxy.refuse(yes=True)
                proxy.cut_all()


@pytest.mark.parametrize("how", ["frozen", "cut"])
async def test_the_others_go_on_and_clocks_get_the_time_back(far: tuple[SpreadLog, Proxy], how: str):
    log, proxy = far
    clock = TurnableClock()
    absences = Absences(log, clock)
    ours, theirs = stream_in("main"), stream_in("north")
    await write(log, ours)
    await write(log, theirs)
    async with asyncio.timeout(5):
        while len(await log.read_all(0)) < 2:
            await asyncio.sleep(0.01)
    assert await absences.look() == []
    begun_ms = clock.now_ms()
    if how == "frozen":
        proxy.frozen = True
    else:
        proxy.refuse(yes=True)
        proxy.cut_all()

    begun = time.monotonic()
    await write(log, ours)
    assert await absences.look() == ["m_north"]
    async with asyncio.timeout(8):
        while not await log.read_all(2):
            await asyncio.sleep(0.01)
        assert await log.head_position() == 3
        async with log.database.pool.acquire() as connection:
            assert (await log.lag_after(3, connection)).head == 3
        assert await log.heads_of([ours.id, theirs.id]) == {ours.id: 2}
    assert time.monotonic() - begun < 8
    log.parts[1]._coalescer._patience_seconds = 0.2
    with pytest.raises(LogUnavailableError):
        await log.append(theirs.next())

    clock.forward_ms = 60_000
    proxy.frozen = False
    proxy.refuse(yes=False)
    proxy.cut_all()
    async with asyncio.timeout(15):
        while await absences.look():
            await asyncio.sleep(0.05)
    ((from_ms, to_ms),) = await log.database.pool.fetch("select from_ms, to_ms from macao_engine.outages")
    assert abs(from_ms - begun_ms) < 1_000
    assert to_ms - from_ms >= 60_000
    log.parts[1]._coalescer._patience_seconds = 10
    await write(log, theirs)
    async with asyncio.timeout(10):
        while not await log.read_all(3):
            await asyncio.sleep(0.01)
    absences.close()


async def test_two_processes_that_saw_the_same_absence_give_it_back_once(database: str):
    async with spread(database) as log:
        give_back = "select macao_engine.give_back($1, $2)"
        for from_ms, to_ms in ((1_000, 5_000), (1_100, 5_200), (900, 4_000), (6_000, 7_000), (1_000, 5_000)):
            await log.database.pool.execute(give_back, from_ms, to_ms)
        rows = await log.database.pool.fetch(
            "select from_ms, to_ms from macao_engine.outages order by from_ms"
        )
        assert [tuple(row) for row in rows] == [(1_000, 5_000), (5_000, 5_200), (6_000, 7_000)]


async def test_clocks_of_a_log_that_is_away_keep_no_others_waiting(database: str):
    async with spread(database) as log:
        for at, match in enumerate(("m_north.01", "m_north.02", "m_01", "m_south.01", "m_northern.01")):
            await log.database.pool.execute(
                "insert into macao_engine.clocks (match, seat, since_ms, due_ms) values ($1, 0, $2, $3)",
                match, at, at + 1,
            )  # fmt: skip
        ticker = Ticker(log.database, None, None, TurnableClock())  # type: ignore[arg-type] - it only looks
        assert [one.match for one in await ticker.due(["m_north"])] == ["m_01", "m_south.01", "m_northern.01"]
        assert len(await ticker.due()) == 5
