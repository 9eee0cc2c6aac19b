"""The coalescer: what is gathered, what is kept apart, what is bounded, and what happens to whom when it fails."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from services.runtime.database import Database
from services.runtime.log import Appended, AppendError, Conflict, Duplicate, EventLog, LogUnavailableError
from services.runtime.log.coalescer import WRITERS, Coalescer
from tests.store.writers import Stream, append_raw

Owner = "asyncpg.Connection[asyncpg.Record]"


@asynccontextmanager
async def held(database: str) -> AsyncIterator[Callable[[], Any]]:
    """Hold the log's lock: whatever is sent meanwhile waits. Gives a function that lets go."""
    connection = await asyncpg.connect(database)
    transaction = connection.transaction()
    await transaction.start()
    await append_raw(connection, [Stream().next()])
    let_go = asyncio.Event()

    async def release() -> None:
        if not let_go.is_set():
            let_go.set()
            await transaction.rollback()

    try:
        yield release
    finally:
        await release()
        await connection.close()


@asynccontextmanager
async def coalescer(opened: Database, **given: Any) -> AsyncIterator[Coalescer]:
    one = Coalescer(opened.connect, "macao_log", **{"batch_max": 512, **given})
    await one.open()
    try:
        yield one
    finally:
        await one.close()


async def occupy(one: Coalescer, writers: int = WRITERS) -> "list[asyncio.Task[Any]]":
    """Give so many writers something to wait with."""
    tasks = []
    for _ in range(writers):
        tasks.append(asyncio.create_task(one.append(Stream().next())))
        await asyncio.sleep(0.05)
    return tasks


async def transactions(owner: Owner) -> int:
    return len(await owner.fetch("SELECT DISTINCT xmin::text FROM macao_log.events"))


async def test_what_comes_together_is_written_together(database: str, opened: Database, owner: Owner):
    async with held(database) as release, coalescer(opened) as one:
        flying = await occupy(one)
        others = [asyncio.create_task(one.append(Stream().next())) for _ in range(100)]
        await asyncio.sleep(0.05)
        await release()
        outcomes = await asyncio.gather(*flying, *others)
    assert sorted(outcome.position for outcome in outcomes) == list(range(1, WRITERS + 101))
    assert await transactions(owner) <= 2 * WRITERS


async def test_a_batch_is_bounded(database: str, opened: Database, owner: Owner):
    async with held(database) as release, coalescer(opened, batch_max=10) as one:
        tasks = [asyncio.create_task(one.append(Stream().next())) for _ in range(35)]
        await asyncio.sleep(0.05)
        await release()
        await asyncio.gather(*tasks)
    assert await transactions(owner) >= 4


async def test_two_batches_are_on_their_way_and_nothing_overtakes(database: str, opened: Database):
    """While one append of a stream is on its way the next one waits, also for another writer that is free."""
    stream, other = Stream(), Stream()
    first = stream.next()
    stream.took(first)
    second = stream.next()
    async with held(database) as release, coalescer(opened) as one:
        tasks = []
        for item in (first, second, other.next()):
            tasks.append(asyncio.create_task(one.append(item)))
            await asyncio.sleep(0.05)
        assert len(one._lanes) == 1
        await release()
        assert [(await task).version for task in tasks] == [1, 2, 1]


async def test_appends_to_one_stream_keep_the_order_of_their_calls(database: str, log: EventLog):
    stream = Stream()
    items = []
    for _ in range(20):
        items.append(stream.next())
        stream.took(items[-1])
    async with held(database) as release:
        tasks = [asyncio.create_task(log.append(item)) for item in items]
        await asyncio.sleep(0.05)
        await release()
        assert [(await task).version for task in tasks] == list(range(1, 21))  # type: ignore[union-attr]


async def test_of_two_appends_behind_one_head_the_first_wins(log: EventLog):
    stream = Stream()
    first, second = stream.next(), stream.next()
    outcomes = await asyncio.gather(log.append(first), log.append(second))
    assert outcomes == [Appended(1, 1), Conflict(first.events[-1].head)]


async def test_one_command_twice_at_once_is_done_once(log: EventLog):
    item = Stream().next(command="c_twice")
    elsewhere = Stream().next(command="c_twice")
    outcomes = await asyncio.gather(log.append(item), log.append(item), log.append(elsewhere))
    assert outcomes == [Appended(1, 1), Duplicate(item.answer, 1), Duplicate(item.answer, 1)]


async def test_a_cancelled_caller_takes_nothing_back(database: str, log: EventLog):
    sent, queued = Stream().next(), Stream().next()
    async with held(database) as release:
        tasks = [asyncio.create_task(log.append(sent))]
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(log.append(Stream().next())) for _ in range(WRITERS - 1)]
        await asyncio.sleep(0.05)
        tasks.append(asyncio.create_task(log.append(queued)))
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        await release()
        await asyncio.gather(*others)
        await log.append(Stream().next())
    assert await log.append(sent) == Duplicate(sent.answer, 1)
    assert await log.append(queued) == Duplicate(queued.answer, 1)


async def test_a_full_queue_turns_callers_away_at_once(database: str, opened: Database):
    async with held(database) as release, coalescer(opened, queue_max=5) as one:
        flying = await occupy(one)
        waiting = [asyncio.create_task(one.append(Stream().next())) for _ in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(LogUnavailableError, match="5 appends are waiting already"):
            await one.append(Stream().next())
        await release()
        assert len(await asyncio.gather(*flying, *waiting)) == WRITERS + 5
        assert isinstance(await one.append(Stream().next()), Appended)


async def test_nobody_waits_longer_than_patience_and_what_was_sent_is_settled(
    database: str, opened: Database
):
    async with held(database) as release, coalescer(opened, patience_seconds=0.3) as one:
        sent, queued = Stream().next(), Stream().next()
        flying = asyncio.create_task(one.append(sent))
        await asyncio.sleep(0.05)
        others = await occupy(one, WRITERS - 1)
        waiting = asyncio.create_task(one.append(queued))
        with pytest.raises(LogUnavailableError, match="outcome is unknown"):
            await flying
        with pytest.raises(LogUnavailableError, match="was not sent"):
            await waiting
        assert not any(
            isinstance(one, Appended) for one in await asyncio.gather(*others, return_exceptions=True)
        )
        await release()
        assert await one.append(sent) == Duplicate(sent.answer, 1)
        assert isinstance(await one.append(queued), Appended)


async def test_one_bad_append_fails_alone(database: str, log: EventLog):
    good = [Stream().next() for _ in range(20)]
    bad = Stream().next()
    bad = replace(bad, request_hash=b"not a SHA-256")
    odd = Stream().next()
    odd = replace(odd, answer="text, where bytes are due")  # type: ignore[arg-type]
    async with held(database) as release:
        tasks = [
            asyncio.create_task(log.append(item)) for item in (*good[:7], bad, *good[7:15], odd, *good[15:])
        ]
        await asyncio.sleep(0.05)
        await release()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(Appended) == 20
    assert isinstance(outcomes[7], AppendError)
    assert isinstance(outcomes[16], AppendError)
    assert await log.head_position() == 20


async def test_closing_sends_what_was_accepted(database: str, opened: Database, owner: Owner):
    async with held(database) as release:
        async with coalescer(opened, batch_max=4) as one:
            tasks = [asyncio.create_task(one.append(Stream().next())) for _ in range(10)]
            await asyncio.sleep(0.05)
            closing = asyncio.create_task(one.close())
            await asyncio.sleep(0.05)
            with pytest.raises(LogUnavailableError, match="closed"):
                await one.append(Stream().next())
            await release()
            await closing
        assert all(isinstance(task.result(), Appended) for task in tasks)
    assert await owner.fetchval("SELECT count(*) FROM macao_log.events") == 10


async def test_closing_does_not_wait_for_ever(
    database: str, opened: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("services.runtime.log.coalescer.DRAIN_SECONDS", 0.2)
    async with held(database):
        async with coalescer(opened) as one:
            flying = await occupy(one)
            waiting = asyncio.create_task(one.append(Stream().next()))
            await asyncio.sleep(0.05)
        for task in (*flying, waiting):
            with pytest.raises(LogUnavailableError, match="stopped"):
                await task


async def test_no_task_is_left_behind(opened: Database):
    before = asyncio.all_tasks()
    async with coalescer(opened) as one:
        await one.append(Stream().next())
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_the_bell_hears_of_commits_and_of_nothing_else(opened: Database):
    heard: list[tuple[int, list[tuple[str, int]]]] = []
    stream = Stream()
    item = stream.next(b"{}", b"{}")
    async with coalescer(
        opened, committed=lambda position, heads: heard.append((position, list(heads)))
    ) as one:
        await one.append(item)
        await one.append(item)
        await one.append(stream.next())
    assert heard == [(2, [(stream.id, 2)])]
