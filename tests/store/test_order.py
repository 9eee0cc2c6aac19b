"""Positions are gapless and in the order of the commits, so a reader that follows the end of the log misses nothing.

The same test is run against three logs: ours, ours without its lock, and one that numbers by a sequence as most do.
The last two have to fail: a test that cannot fail shows nothing.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from services.runtime.database import Database
from services.runtime.log import Appended, AppendError, EventLog
from tests.store.writers import Stream, append_raw, settings_for, write_rounds

FUNCTION = Path("services/runtime/log/sql/functions/append_many.sql")
LOCK_MARK = "-- THE LOCK"
TAIL = "SELECT coalesce(max(e.position), 0) INTO tail FROM macao_log.events AS e;"

RAW_WRITERS = 4
LOGS = 4
CALLERS = 3  # of each log; sixteen writers in all
ROUNDS = 25


def function_text() -> str:
    return (Path(__file__).parents[2] / FUNCTION).read_text("utf-8")


def without_lock() -> str:
    """The function without its lock, and with a pause in which others would have to wait for it."""
    lines = [line for line in function_text().splitlines() if LOCK_MARK not in line]
    assert len(lines) == len(function_text().splitlines()) - 1
    text = "\n".join(lines)
    assert text.count(TAIL) == 1
    return text.replace(TAIL, f"{TAIL}\n    PERFORM pg_sleep(0.002);")


def with_sequence() -> str:
    """The function without its lock, numbering by a sequence: nobody waits, and commits come in any order."""
    text = without_lock()
    numbering = (
        "SELECT nextval('macao_log.numbers') * 10 INTO tail;\n"
        "    PERFORM pg_sleep(0.001 + random() * 0.02);"  # other transactions commit meanwhile
    )
    return text.replace(f"{TAIL}\n    PERFORM pg_sleep(0.002);", numbering)


async def follow(log: EventLog, done: asyncio.Event) -> list[int]:
    """Read on from the last position seen, as every reader does, until the writers are done and nothing is left."""
    seen: list[int] = []
    while True:
        finished = done.is_set()
        page = await log.read_all(seen[-1] if seen else 0, 100)
        seen += [recorded.position for recorded in page]
        if not page:
            if finished:
                return seen
            await asyncio.sleep(0)


async def write_and_follow(database: str) -> tuple[list[int], list[int]]:
    """Let sixteen writers append while a reader follows; return what it saw, and what there is, by position."""
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(Database(settings_for(database)))
        logs = [await stack.enter_async_context(EventLog(opened)) for _ in range(LOGS)]
        raw = [await asyncpg.connect(database) for _ in range(RAW_WRITERS)]
        for connection in raw:
            stack.push_async_callback(connection.close)

        async def write_raw(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
            streams = [Stream() for _ in range(2)]
            for _ in range(ROUNDS):
                items = [stream.next(b"{}", b"{}") for stream in streams]
                rows = await append_raw(connection, items)
                assert [row["outcome"] for row in rows] == ["appended", "appended"]
                for stream, item in zip(streams, items, strict=True):
                    stream.took(item)

        done = asyncio.Event()
        reader = asyncio.create_task(follow(logs[0], done))
        writers = [write_rounds(log.append, Stream(), ROUNDS) for log in logs for _ in range(CALLERS)]
        results = await asyncio.gather(*writers, *(write_raw(one) for one in raw), return_exceptions=True)
        done.set()
        seen = await reader
        for result in results:
            if isinstance(result, BaseException):
                raise result
        there = [
            row[0] for row in await raw[0].fetch("SELECT position FROM macao_log.events ORDER BY position")
        ]
        return seen, there


async def test_sixteen_writers_and_a_reader_that_follows(database: str):
    seen, there = await write_and_follow(database)
    total = CALLERS * LOGS * sum(1 + number % 3 for number in range(ROUNDS)) + RAW_WRITERS * ROUNDS * 4
    assert there == list(range(1, total + 1))
    assert seen == there


async def test_without_the_lock_the_same_test_fails(
    database: str, owner: "asyncpg.Connection[asyncpg.Record]"
):
    await owner.execute(without_lock())
    with pytest.raises((asyncpg.UniqueViolationError, AppendError)):
        await write_and_follow(database)


async def test_a_sequence_would_let_the_reader_skip(
    database: str, owner: "asyncpg.Connection[asyncpg.Record]"
):
    await owner.execute(
        "CREATE SEQUENCE macao_log.numbers; GRANT USAGE ON SEQUENCE macao_log.numbers TO macao_app"
    )
    await owner.execute(with_sequence())
    # Events in partitions refuse gaps by themselves: the trigger has to go, too.
    await owner.execute("DROP TRIGGER IF EXISTS numbered ON macao_log.events")
    seen, there = await write_and_follow(database)
    assert seen == sorted(seen)  # it believes that all is well
    assert len(there) > len(seen)  # and has missed what committed late


async def test_an_open_transaction_holds_back_whoever_comes_later(database: str, log: EventLog):
    """The lock is held until the commit: nobody gets a later position while an earlier one is not there yet."""
    connection = await asyncpg.connect(database)
    try:
        slow, quick = Stream(), Stream()
        transaction = connection.transaction()
        await transaction.start()
        await append_raw(connection, [slow.next()])
        waiting = asyncio.create_task(log.append(quick.next()))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        assert await log.head_position() == 0
        await transaction.commit()
        assert await waiting == Appended(version=1, position=2)
    finally:
        await connection.close()


async def test_a_rolled_back_append_leaves_no_gap(database: str, log: EventLog):
    connection = await asyncpg.connect(database)
    try:
        transaction = connection.transaction()
        await transaction.start()
        await append_raw(connection, [Stream().next(b"{}", b"{}")])
        await transaction.rollback()
    finally:
        await connection.close()
    assert await log.append(Stream().next()) == Appended(version=1, position=1)
