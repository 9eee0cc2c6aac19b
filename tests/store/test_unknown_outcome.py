"""The connection breaks while an append is on its way: before it is sent, after, or just before the answer."""

import asyncio
import random
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import pytest_asyncio

from services.runtime.database import Database
from services.runtime.log import Appended, Duplicate, EventLog, LogUnavailableError
from services.runtime.log.coalescer import WRITERS, Coalescer
from tests.store.writers import Stream, settings_for
from tests.support.proxy import Moment, Proxy


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(database: str) -> AsyncIterator[Proxy]:
    parts = urlsplit(database)
    async with Proxy(parts.hostname or "127.0.0.1", parts.port or 5432) as proxy:
        yield proxy


@pytest_asyncio.fixture(loop_scope="session")
async def far(database: str, proxy: Proxy) -> AsyncIterator[Database]:
    """The database, reached through the proxy."""
    parts = urlsplit(database)
    address = f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{proxy.port}"
    async with Database(settings_for(urlunsplit(parts._replace(netloc=address)))) as far:
        yield far


@pytest.mark.parametrize("moment", list(Moment))
async def test_an_append_is_done_once_and_answered_wherever_the_cut_falls(
    far: Database, proxy: Proxy, log: EventLog, moment: Moment
):
    async with EventLog(far) as distant:
        for number in range(5):
            marked = Stream().next(b"{}", b"{}")
            others = [Stream().next() for _ in range(5)]
            proxy.cut_once(marked.command.encode(), moment)
            outcomes = await asyncio.gather(*(distant.append(item) for item in (marked, *others)))
            assert all(isinstance(outcome, Appended) for outcome in outcomes)
            assert isinstance(outcomes[0], Appended)
            assert proxy.cuts == number + 1
            stored = await log.read_all(outcomes[0].position - 2, 2)
            assert [recorded.event for recorded in stored] == list(marked.events)
            assert await distant.append(marked) == Duplicate(marked.answer, 2)
        assert await log.head_position() == 5 * 7


async def test_a_database_that_comes_back_gets_what_waited(far: Database, proxy: Proxy):
    async with EventLog(far) as distant:
        await distant.append(Stream().next())
        proxy.refuse(yes=True)
        proxy.cut_all()
        tasks = [asyncio.create_task(distant.append(Stream().next())) for _ in range(20)]
        await asyncio.sleep(0.5)
        assert not any(task.done() for task in tasks)
        proxy.refuse(yes=False)
        outcomes = await asyncio.gather(*tasks)
        assert all(isinstance(outcome, Appended) for outcome in outcomes)


async def test_a_database_that_stays_away_is_unavailable(far: Database, proxy: Proxy):
    one = Coalescer(far.connect, "macao_log", batch_max=10, patience_seconds=0.5)
    await one.open()
    try:
        proxy.refuse(yes=True)
        proxy.cut_all()
        item = Stream().next()
        with pytest.raises(LogUnavailableError):
            await one.append(item)
        proxy.refuse(yes=False)
        await asyncio.sleep(1.1)
        assert await one.append(item) == Appended(1, 1)
    finally:
        await one.close()


@pytest.mark.slow
async def test_cuts_at_random_under_load_lose_and_double_nothing(far: Database, proxy: Proxy, log: EventLog):
    acknowledged = 0

    async def work(distant: EventLog) -> None:
        nonlocal acknowledged
        stream = Stream()
        for _ in range(100):
            item = stream.next()
            outcome = await distant.append(item)
            assert isinstance(outcome, Appended), outcome
            assert outcome.version == item.events[-1].version
            stream.took(item)
            acknowledged += 1

    async def cut() -> None:
        moments = random.Random(7)
        while True:
            await asyncio.sleep(moments.uniform(0.0, 0.3))
            proxy.cut_all()

    async with EventLog(far) as distant:
        cutter = asyncio.create_task(cut())
        try:
            await asyncio.gather(*(work(distant) for _ in range(16)))
        finally:
            cutter.cancel()
    assert acknowledged == 1_600
    assert await log.head_position() == 1_600
    events = [recorded.event for recorded in await log.read_all(0, 5_000)]
    assert all(event.recomputed_hash() == event.hash for event in events)


async def test_sessions_killed_by_an_operator_are_replaced(
    log: EventLog, owner: "asyncpg.Connection[asyncpg.Record]"
):
    await log.append(Stream().next())
    killed = await owner.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'macao writer' AND datname = current_database()"
    )
    assert len(killed) == WRITERS
    assert isinstance(await log.append(Stream().next()), Appended)
