"""No index stands over all positions; still nothing gets in that does not go on where the log ends."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from services.runtime.log import Appended, Conflict, Duplicate, EventLog
from tests.store.test_order import without_lock
from tests.store.writers import Stream, append_raw

Owner = asyncpg.Connection

AGAIN = """
INSERT INTO macao_log.events
    (position, version, at_ms, recorded_at, schema, stream, type, actor, command, previous, hash, body)
SELECT n, v, at_ms, recorded_at, schema, s, type, actor, command, previous, hash, body
FROM macao_log.events, (VALUES {rows}) AS new (n, s, v) WHERE position = 1
"""


async def filled(log: EventLog, streams: int = 5) -> list[Stream]:
    made = [Stream() for _ in range(streams)]
    for stream in made:
        item = stream.next()
        assert isinstance(await log.append(item), Appended)
        stream.took(item)
    return made


WRONG = (
    "(3, 'm_x', 1)",  # taken
    "(5, 'm_x', 1)",  # the last one, again
    "(7, 'm_x', 1)",  # behind a gap
    "(6, 'm_x', 1), (6, 'm_y', 1)",  # one number twice
    "(6, 'm_x', 1), (8, 'm_y', 1)",
    "(5, 'm_x', 1), (6, 'm_y', 1)",
    "(6, 'm_x', 1), (6, 'm_y', 1), (8, 'm_z', 1)",
)


async def test_an_owner_who_numbers_wrongly_is_refused(log: EventLog, owner: Owner[Any]):
    await filled(log)
    for rows in WRONG:
        with pytest.raises(asyncpg.UniqueViolationError):
            await owner.execute(AGAIN.format(rows=rows))
    there = await owner.fetch("SELECT position FROM macao_log.events ORDER BY position")
    assert [row[0] for row in there] == [1, 2, 3, 4, 5]


async def test_an_owner_who_numbers_rightly_is_not(log: EventLog, owner: Owner[Any]):
    await filled(log)
    await owner.execute(AGAIN.format(rows="(6, 'm_x', 1), (8, 'm_y', 1), (7, 'm_z', 1)"))
    await owner.execute(AGAIN.format(rows="(9, 'm_x', 2)") + " AND false")
    assert await log.head_position() == 8


async def test_a_version_is_written_once_by_the_index_alone(log: EventLog, owner: Owner[Any]):
    stream, *_ = await filled(log)
    await owner.execute("ALTER TABLE macao_log.events DISABLE TRIGGER numbered")
    with pytest.raises(asyncpg.UniqueViolationError, match=r"events_\d+_stream_version"):
        await owner.execute(AGAIN.format(rows=f"(6, '{stream.id}', 1)"))


async def waits(log: EventLog, connection: Owner[Any]) -> None:
    """Return as soon as somebody waits for a lock."""
    async with asyncio.timeout(20):
        while not await log.database.pool.fetchval(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", connection.get_server_pid()
        ):
            await asyncio.sleep(0.01)


async def test_two_who_number_alike_without_the_lock_do_not_both_get_in(
    log: EventLog, owner: Owner[Any], database: str
):
    """One commits while the other waits in the trigger, which then sees what was committed."""
    await filled(log)
    await owner.execute(without_lock())
    second = await asyncpg.connect(database)
    try:
        for at in range(6):  # in one partition or in two
            transaction = owner.transaction()
            await transaction.start()
            await append_raw(owner, [Stream().next(b"{}", b"{}")])
            late = asyncio.create_task(append_raw(second, [Stream().next()]))
            await waits(log, second)
            assert not late.done()
            await transaction.commit()
            with pytest.raises(asyncpg.UniqueViolationError):
                await late
            assert await log.head_position() == 7 + 2 * at
    finally:
        await second.close()


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_whoever_would_not_see_what_was_committed_meanwhile_is_refused(
    owner: Owner[Any], isolation: str
):
    with pytest.raises(asyncpg.InvalidTransactionStateError, match="under READ COMMITTED, not under"):
        async with owner.transaction(isolation=isolation):  # type: ignore[arg-type]
            await append_raw(owner, [Stream().next()])


async def test_a_command_that_is_sent_by_many_at_once_is_carried_out_once(log: EventLog, database: str):
    stream = Stream()
    item = stream.next(b"{}", b"{}", command="c_once")
    connections = [await asyncpg.connect(database) for _ in range(6)]
    try:
        answers = await asyncio.gather(*(append_raw(one, [item]) for one in connections))
    finally:
        for one in connections:
            await one.close()
    assert sorted(answer[0]["outcome"] for answer in answers) == ["appended"] + ["duplicate"] * 5
    assert {answer[0]["last_position"] for answer in answers} == {2}
    assert isinstance(await log.append(item), Duplicate)
    assert await log.append(Stream(stream.id).next()) == Conflict(item.events[-1].head)
    assert await log.head_position() == 2
