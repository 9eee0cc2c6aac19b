"""What an append answers, and what is stored by it."""

import asyncio
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from services.contracts.chain import seal_of
from services.contracts.envelope import Head
from services.runtime.database import Database
from services.runtime.log import Append, Appended, Conflict, Duplicate, EventLog, Reused
from tests.store.writers import Stream, append_raw, links_are_those_of_events


async def test_an_append_is_answered_with_version_and_position(log: EventLog):
    first, second = Stream(), Stream(kind="t")
    item = first.next(b'{"n":1}', b'{"n":2}')
    assert await log.append(item) == Appended(version=2, position=2)
    assert await log.append(second.next()) == Appended(version=1, position=3)
    assert await log.head_of(first.id) == item.events[-1].head
    assert await log.head_of("m_unknown") is None
    assert await log.head_position() == 3


async def test_the_same_command_gets_the_first_answer(log: EventLog):
    stream = Stream()
    item = stream.next(answer=b'{"first":1}')
    await log.append(item)
    again = replace(item, answer=b'{"second":2}')
    assert await log.append(again) == Duplicate(answer=b'{"first":1}', version=1)
    assert await log.head_position() == 1


async def test_a_retry_is_found_although_the_stream_has_moved_on(log: EventLog):
    stream = Stream()
    item = stream.next()
    await log.append(item)
    stream.took(item)
    await log.append(stream.next())
    assert await log.append(item) == Duplicate(answer=item.answer, version=1)


async def test_the_same_command_for_another_request_is_refused(log: EventLog):
    item = Stream().next()
    await log.append(item)
    assert await log.append(replace(item, request_hash=bytes(32))) == Reused()


async def test_the_same_command_for_another_stream_is_found(log: EventLog):
    item = Stream().next(command="c_one")
    await log.append(item)
    other = Stream()
    assert await log.append(other.next(command="c_one", request=b"other")) == Reused()
    assert await log.append(other.next(command="c_one")) == Duplicate(item.answer, 1)
    assert await log.head_of(other.id) is None


async def test_a_moved_stream_is_a_conflict_that_names_its_head(log: EventLog):
    stream = Stream()
    item = stream.next()
    await log.append(item)
    assert await log.append(stream.next()) == Conflict(item.events[-1].head)


async def test_an_append_behind_a_stream_that_is_not_there_is_a_conflict(log: EventLog):
    stream = Stream()
    stream.head = Head(3, bytes(range(32)))
    assert await log.append(stream.next()) == Conflict(Head())
    assert await log.head_of(stream.id) is None


async def test_the_right_version_with_another_hash_is_a_conflict(log: EventLog):
    stream = Stream()
    item = stream.next()
    await log.append(item)
    stream.head = Head(1, bytes(range(32)))
    assert await log.append(stream.next()) == Conflict(item.events[-1].head)


async def test_refused_items_leave_their_batch_alone(owner: Any):
    streams = [Stream() for _ in range(6)]
    await append_raw(
        owner, [stream.next(command=f"c_first_{number}") for number, stream in enumerate(streams[:4])]
    )
    fits, conflicts, retries, reuses, new, gone = streams
    fits.head = Head(1, await owner.fetchval("SELECT hash FROM macao_log.streams WHERE id = $1", fits.id))
    gone.head = Head(7, bytes(32))
    rows = await append_raw(
        owner,
        [
            fits.next(b'{"a":1}', b'{"a":2}'),
            conflicts.next(),
            retries.next(command="c_first_2"),
            reuses.next(command="c_first_3", request=b"other"),
            new.next(b"{}", b"{}", b"{}"),
            gone.next(),
        ],
    )
    assert [row["outcome"] for row in rows] == [
        "appended",
        "conflict",
        "duplicate",
        "reused",
        "appended",
        "conflict",
    ]
    assert [(row["head_version"], row["last_position"]) for row in rows if row["outcome"] == "appended"] == [
        (3, 6),
        (3, 9),
    ]
    assert rows[5]["head_version"] == 0
    positions = await owner.fetch("SELECT position, stream, version FROM macao_log.events ORDER BY position")
    assert [row["position"] for row in positions] == list(range(1, 10))
    assert [tuple(row)[1:] for row in positions[4:]] == [
        (fits.id, 2), (fits.id, 3), (new.id, 1), (new.id, 2), (new.id, 3),
    ]  # fmt: skip


async def test_a_batch_of_refusals_changes_nothing(owner: Any):
    stream = Stream()
    item = stream.next()
    await append_raw(owner, [item])
    rows = await append_raw(owner, [item])
    assert rows[0]["outcome"] == "duplicate"
    assert (rows[0]["stored_answer"], rows[0]["head_version"], rows[0]["last_position"]) == (
        item.answer,
        1,
        1,
    )
    assert await owner.fetchval("SELECT count(*) FROM macao_log.events") == 1


async def test_two_items_of_one_stream_in_a_batch_are_an_error(owner: Any):
    stream = Stream()
    first = stream.next()
    stream.took(first)
    second = stream.next()
    other = Stream().next()
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await append_raw(owner, [first, second])
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await append_raw(owner, [first, other, second])
    assert await owner.fetchval("SELECT count(*) FROM macao_log.events") == 0


async def test_one_command_for_two_streams_in_a_batch_is_an_error(owner: Any):
    with pytest.raises(asyncpg.UniqueViolationError):
        await append_raw(owner, [Stream().next(command="c_same"), Stream().next(command="c_same")])
    assert await owner.fetchval("SELECT count(*) FROM macao_log.streams") == 0


def _broken(item: Append, **changes: Any) -> Append:
    """Change the last event of an append."""
    return replace(item, events=(*item.events[:-1], replace(item.events[-1], **changes)))


@pytest.mark.parametrize(
    "changes",
    [{"version": 3}, {"version": 1}, {"previous": bytes(32)}, {"previous": b"short"}, {"command": "c_other"}],
    ids=str,
)
async def test_events_that_do_not_follow_are_refused_by_the_log_and_by_the_database(
    log: EventLog, owner: Any, changes: Any
):
    item = _broken(Stream().next(b"{}", b"{}"), **changes)
    with pytest.raises(ValueError, match=r"does not follow|belongs to another"):
        await log.append(item)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await append_raw(owner, [item])


async def test_a_stream_begins_behind_nothing(log: EventLog, owner: Any):
    stream = Stream()
    stream.head = Head(0, bytes(range(32)))
    with pytest.raises(ValueError, match="begins a stream"):
        await log.append(stream.next())
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await append_raw(owner, [stream.next()])


async def test_an_append_without_events_is_refused(log: EventLog, owner: Any):
    item = Stream().next()
    with pytest.raises(ValueError, match="no events"):
        await log.append(replace(item, events=()))
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await append_raw(owner, [replace(item, events=())])


@pytest.mark.parametrize(
    "changes",
    [{"hash": b"short"}, {"seal": bytes(32)}, {"schema": 0}, {"salt": bytes(16), "sealed": b"{}"}],
    ids=str,
)
async def test_rows_that_make_no_sense_are_refused_by_the_table(owner: Any, changes: Any):
    item = _broken(Stream().next(), **changes)
    with pytest.raises(asyncpg.CheckViolationError):
        await append_raw(owner, [item])


async def test_bytes_come_back_as_they_were_and_the_chain_holds(log: EventLog):
    stream = Stream()
    bodies = [
        b'{"z":1,"a":2}',
        '{"name":"Łódź \u0001 🂡 ﷽"}'.encode(),
        b'{ "spaces" : 1.0e2 , "a":1, "a":2 }',
        b"\x00\xff not even JSON",
        b'{"large":"' + b"x" * 50_000 + b'"}',
    ]
    item = stream.next(*bodies, answer=b'{"b":1,"a":2}')
    await log.append(item)
    stream.took(item)
    hidden = stream.next(b'{"public":1}', sealed=b'{"secret":"\xc5\x81","public":1}')
    await log.append(hidden)

    stored = [recorded.event for recorded in await log.read_stream(stream.id)]
    assert stored == [*item.events, *hidden.events]
    assert [event.body for event in stored[:5]] == bodies
    previous = Head().hash
    for event in stored:
        assert event.previous == previous
        assert event.recomputed_hash() == event.hash
        previous = event.hash
    links = await links_are_those_of_events(log, stream)
    assert [link.whole for link in links] == [*bodies, b'{"secret":"\xc5\x81","public":1}']
    assert [link.head for link in links] == [event.head for event in stored]
    sealed = stored[-1]
    assert sealed.whole == b'{"secret":"\xc5\x81","public":1}'
    assert sealed.salt is not None
    assert sealed.sealed is not None
    assert seal_of(sealed.salt, sealed.sealed) == sealed.seal
    assert sealed.without_secrets().recomputed_hash() == sealed.hash
    command = await log.find_command(item.command)
    assert command is not None
    assert (command.answer, command.stream, command.version) == (b'{"b":1,"a":2}', stream.id, 5)
    assert await log.find_command("c_unknown") is None


async def test_reads_come_in_pages(log: EventLog):
    streams = [Stream() for _ in range(3)]
    for _ in range(4):
        for stream in streams:
            item = stream.next()
            await log.append(item)
            stream.took(item)
    assert [r.position for r in await log.read_all(0, 5)] == [1, 2, 3, 4, 5]
    assert [r.position for r in await log.read_all(5, 100)] == [6, 7, 8, 9, 10, 11, 12]
    assert await log.read_all(12) == []
    assert [r.event.version for r in await log.read_stream(streams[1].id, after=1, limit=2)] == [2, 3]
    assert await log.read_stream(streams[1].id, after=4) == []
    assert len(await links_are_those_of_events(log, streams[1])) == 4
    assert await log.read_links(Stream().id) == []


async def test_two_processes_create_a_stream_at_once(database: str):
    connections = [await asyncpg.connect(database) for _ in range(8)]
    try:
        for _ in range(10):
            stream = Stream()
            rows = await asyncio.gather(
                *(append_raw(connection, [stream.next()]) for connection in connections)
            )
            outcomes = [row[0]["outcome"] for row in rows]
            assert sorted(outcomes) == ["appended"] + ["conflict"] * 7
    finally:
        for connection in connections:
            await connection.close()


async def test_two_processes_send_one_command_at_once(database: str):
    connections = [await asyncpg.connect(database) for _ in range(8)]
    try:
        for number in range(10):
            same = Stream().next(command=f"c_same_{number}")
            items = [same] * 4 + [Stream().next(command=f"c_same_{number}") for _ in range(4)]
            rows = await asyncio.gather(
                *(append_raw(connection, [item]) for connection, item in zip(connections, items, strict=True))
            )
            outcomes = [row[0]["outcome"] for row in rows]
            assert sorted(outcomes) == ["appended"] + ["duplicate"] * 7
        assert await connections[0].fetchval("SELECT count(*) FROM macao_log.streams") == 10
    finally:
        for connection in connections:
            await connection.close()


async def test_crossing_batches_do_not_block_each_other(database: str):
    """Many calls with the same streams and commands in different mixes: no deadlock, and one winner each."""
    connections = [await asyncpg.connect(database) for _ in range(6)]
    streams = [Stream() for _ in range(12)]
    try:

        async def work(number: int, connection: "asyncpg.Connection[asyncpg.Record]") -> int:
            won = 0
            for turn in range(30):
                mine = [streams[(number * 5 + turn * 7 + step) % 12] for step in range(4)]
                heads = dict(await connection.fetch("SELECT id, ROW(version, hash) FROM macao_log.streams"))
                items = []
                for stream in mine:
                    view = Stream(stream.id)
                    view.head = Head(*heads.get(stream.id, (0, bytes(32))))
                    items.append(view.next())
                won += sum(row["outcome"] == "appended" for row in await append_raw(connection, items))
            return won

        won = sum(await asyncio.gather(*(work(number, one) for number, one in enumerate(connections))))
        assert await connections[0].fetchval("SELECT count(*) FROM macao_log.events") == won
        assert await connections[0].fetchval("SELECT sum(version) FROM macao_log.streams") == won
    finally:
        for connection in connections:
            await connection.close()


async def test_the_same_commands_for_other_streams_in_other_orders_do_not_block_each_other(database: str):
    connections = [await asyncpg.connect(database) for _ in range(4)]
    try:
        for turn in range(20):
            commands = [f"c_{turn}_{number}" for number in range(8)]
            batches = []
            for number in range(4):
                order = commands if number % 2 else commands[::-1]
                batches.append([Stream().next(command=command) for command in order])
            answers = await asyncio.gather(
                *(
                    append_raw(connection, batch)
                    for connection, batch in zip(connections, batches, strict=True)
                )
            )
            outcomes = [row["outcome"] for rows in answers for row in rows]
            assert outcomes.count("appended") == 8
            assert outcomes.count("duplicate") == 24
        assert await connections[0].fetchval("SELECT max(position) FROM macao_log.events") == 160
    finally:
        for connection in connections:
            await connection.close()


async def test_appends_run_with_the_few_rights_of_the_application(opened: Database, log: EventLog):
    assert await opened.pool.fetchval("SELECT current_user") == "macao_app"
    await log.append(Stream().next())
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await opened.pool.execute(
            "INSERT INTO macao_log.streams VALUES ('m_x', 'm', 1, decode(repeat('00', 32), 'hex'))"
        )
