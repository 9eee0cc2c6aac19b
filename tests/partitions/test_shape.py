"""Events in partitions are laid out and closed as the table is: the parent and every partition."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import pytest

from services.cli.main import main
from services.contracts.ids import DEFAULT_LOG
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.log.partitions import ONE_TABLE, PartitionError, partition, partitions_of
from services.runtime.logs.adding import LogsError, Sites, add_log, cut
from services.runtime.migrate import migrate
from tests.logs.conftest import spread, stream_in, write
from tests.partitions.conftest import COUNT
from tests.store.test_migrate import login
from tests.store.writers import Stream, append_raw, settings_for
from tests.support.databases import PARTITIONS, Databases

Owner = asyncpg.Connection

PARTS = [f"events_{number:03}" for number in range(COUNT)]
COLUMNS = """
SELECT attname::text, atttypid::regtype::text, attnotnull, attcollation::regcollation::text, attstorage::text,
    col_description(attrelid, attnum)
FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 ORDER BY attnum
"""
CHECKS = """
SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = $1::text::regclass AND contype = 'c' ORDER BY conname
"""
RIGHTS = """
SELECT r.role, p.privilege FROM unnest(ARRAY['macao_app', 'public']) AS r (role),
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS p (privilege)
WHERE has_table_privilege(r.role::name, $1, p.privilege)
"""
TRIGGERS = """
SELECT tgname::text, tgenabled::text FROM pg_trigger WHERE tgrelid = $1::text::regclass AND NOT tgisinternal ORDER BY 1
"""
KEYS = """
SELECT conname::text, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = $1::text::regclass AND contype IN ('p', 'u') ORDER BY contype
"""


async def rows(connection: Owner[Any], sql: str, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(sql, f"macao_log.{table}")]


async def test_the_table_is_the_one_that_the_migrations_make(owner: Owner[Any], empty: str):
    await migrate(empty)
    whole = await asyncpg.connect(empty)
    try:
        for sql in (COLUMNS, CHECKS, RIGHTS):
            as_it_was = await rows(whole, sql, "events")
            assert len(as_it_was) > 0
            assert await rows(owner, sql, "events") == as_it_was
            for part in PARTS if sql != COLUMNS else ():
                assert await rows(owner, sql, part) == as_it_was
        told = "SELECT obj_description($1::text::regclass, 'pg_class')"
        assert await rows(owner, told, "events") == await rows(whole, told, "events")
    finally:
        await whole.close()
    assert await owner.fetchval("SELECT to_regclass('macao_log.events_whole')") is None
    assert await partitions_of(owner, "macao_log") == COUNT


async def test_every_partition_has_its_triggers_keys_rights_and_comment(owner: Owner[Any]):
    assert await rows(owner, TRIGGERS, "events") == [("append_only", "A"), ("numbered", "A")]
    assert await rows(owner, KEYS, "events") == [("events_one_per_version", "u", "UNIQUE (stream, version)")]
    for part in PARTS:
        assert await rows(owner, TRIGGERS, part) == [("append_only", "A"), ("by_the_table", "A")]
        keys = [key[1:] for key in await rows(owner, KEYS, part)]
        assert keys == [("p", 'PRIMARY KEY ("position")'), ("u", "UNIQUE (stream, version)")]
        assert await rows(owner, RIGHTS, part) == [("macao_app", "SELECT")]
        told = await owner.fetchval("SELECT obj_description($1::text::regclass)", f"macao_log.{part}")
        assert "never by this name" in told


FORGET = "DELETE FROM macao_log.events"
DIRECT = (
    "INSERT INTO {part} SELECT * FROM macao_log.events",
    "INSERT INTO {part} SELECT * FROM macao_log.events WHERE false",
    "UPDATE {part} SET body = '{{}}'",
    "UPDATE {part} SET stream = 'm_elsewhere' WHERE false",
    "DELETE FROM {part}",
    "TRUNCATE {part}",
    "MERGE INTO {part} AS e USING (SELECT 1) AS u ON true WHEN MATCHED THEN DELETE",
)


async def test_nobody_writes_to_a_partition_by_its_name(log: EventLog, opened: Database, owner: Owner[Any]):
    await log.append(Stream().next())
    part = await owner.fetchval("SELECT tableoid::regclass::text FROM macao_log.events")
    for statement in DIRECT:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
            await opened.pool.execute(statement.format(part=part))
    for replica in (False, True):
        if replica:
            await owner.execute("SET session_replication_role = replica")
        for statement in DIRECT:
            with pytest.raises(
                asyncpg.InsufficientPrivilegeError, match=r"append-only|appended to the whole"
            ):
                await owner.execute(statement.format(part=part))
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="appended to the whole"):
            await owner.copy_records_to_table(part.partition(".")[2], schema_name="macao_log", records=[])
    assert await owner.fetchval("SELECT count(*) FROM macao_log.events") == 1


async def test_the_application_cannot_cut_anything(opened: Database):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await opened.pool.execute("SELECT macao_log.partition_events(8)")


async def test_a_log_is_cut_once_and_while_it_is_empty(owner: Owner[Any], log: EventLog):
    assert await partition(owner, "macao_log", COUNT) is False
    with pytest.raises(
        PartitionError, match=rf"into {COUNT} partitions, and cannot be cut into {COUNT * 2} in place"
    ):
        await partition(owner, "macao_log", COUNT * 2)
    await log.append(Stream().next())
    assert await partition(owner, "macao_log", COUNT) is False
    for number in (-8, 0, 1, 3, 12, 512):
        with pytest.raises(PartitionError, match=f"a power of two, not into {number}"):
            await partition(owner, "macao_log", number)
        with pytest.raises(asyncpg.InvalidParameterValueError, match=f"not into {number}"):
            await owner.execute("SELECT macao_log.partition_events($1)", number)


async def test_events_in_one_table_stay_there(empty: str):
    await migrate(empty)
    async with spread(empty) as log:
        await write(log, stream_in("main"))
    with pytest.raises(PartitionError, match=r"holds events in one table.*macao logs move NAME --to SERVER"):
        await cut(empty, DEFAULT_LOG, 8)
    async with spread(empty) as log:
        await write(log, stream_in("main"))
        assert await log.head_position() == 2


async def test_four_processes_cut_at_once_and_one_does_it(empty: str):
    await migrate(empty)
    assert sorted(await asyncio.gather(*(cut(empty, DEFAULT_LOG, 4) for _ in range(4)))) == [False] * 3 + [
        True
    ]


async def test_a_log_that_is_open_is_cut_under_its_writers(empty: str):
    """Prepared statements and plans of a process that was there before are made anew."""
    await migrate(empty)
    async with spread(empty) as log:
        assert await log.read_all(0) == []
        await cut(empty, DEFAULT_LOG, 4)
        stream = stream_in("main")
        for _ in range(8):
            await write(log, stream)
        assert [one.position for one in await log.read_all(0)] == list(range(1, 9))


async def test_a_first_append_that_waits_for_the_cut_goes_into_the_partitions(empty: str):
    await migrate(empty)
    cutter, writer, another = [await asyncpg.connect(empty) for _ in range(3)]
    try:
        await append_raw(writer, [Stream().next()])
        await cutter.execute(
            f"ALTER TABLE macao_log.events DISABLE TRIGGER append_only; {FORGET}"
        )  # plans stay
        transaction = cutter.transaction()
        await transaction.start()
        await partition(cutter, "macao_log", 4)
        streams = [Stream() for _ in range(2)]
        waiting = [
            asyncio.create_task(append_raw(one, [stream.next(b"{}", b"{}")]))
            for one, stream in zip((writer, another), streams, strict=True)
        ]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        await transaction.commit()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        # Who waited may have numbered before the other came: then one is refused, and writers send it again.
        went = [one for one in answers if not isinstance(one, BaseException)]
        assert all(isinstance(one, asyncpg.PostgresError) for one in answers if one not in went), answers
        assert went
        there = await cutter.fetch("SELECT position FROM macao_log.events ORDER BY position")
        assert [row[0] for row in there] == list(range(1, 2 * len(went) + 1))
        assert await partitions_of(cutter, "macao_log") == 4
    finally:
        for one in (cutter, writer, another):
            await one.close()


async def test_a_login_that_owns_the_database_is_enough(empty: str):
    """As managed databases give one: no superuser."""
    async with login(empty, "macao_test_cuts") as (url, admin):
        await admin.execute("GRANT macao_app TO macao_test_cuts")
        await migrate(url)
        assert await cut(url, DEFAULT_LOG, 4)
        async with Database(settings_for(url)) as opened, EventLog(opened) as log:
            assert await opened.pool.fetchval("SELECT current_user") == "macao_app"
            await write(log, Stream(), b"{}", b"{}")
            assert len(await log.read_all(0)) == 2
        owner = await asyncpg.connect(url)
        try:
            for statement in DIRECT:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await owner.execute(statement.format(part="macao_log.events_001"))
        finally:
            await owner.close()


async def test_at_the_keyboard(
    empty: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MACAO_DATABASE_URL", empty)
    monkeypatch.setenv("MACAO_LOG_SERVERS", "")

    async def run(*words: str) -> tuple[int, str]:
        with ThreadPoolExecutor(1) as threads:
            code = await asyncio.get_running_loop().run_in_executor(threads, main, words)
        return code, "".join(capfd.readouterr())

    code, told = await run("migrate", "--partitions", "12")
    assert (code, told) == (
        1,
        "macao: events are cut into 2, 4, 8 … 256 partitions, a power of two, not into 12\n",
    )
    code, told = await run("migrate", "--partitions", "4")
    assert (code, "log/events in 4 partitions\n" in told) == (0, True)
    for words in ((), ("--partitions", "4")):
        assert await run("migrate", *words) == (0, "nothing to do: the schema is up to date\n")
    code, told = await run("migrate", "--partitions", "8")
    assert (code, "into 4 partitions, and cannot be cut into 8 in place" in told) == (1, True)
    assert "--partitions 8, docs/operations.md" in told
    assert (await run("logs", "add", "north", "--partitions", "7"))[0] == 1
    assert (await run("logs", "add", "north", "--partitions", "16"))[0] == 0
    rows = [line.split() for line in (await run("logs"))[1].splitlines()]
    assert [(row[0], row[-1]) for row in rows[1:]] == [("main", "4"), ("north", "16")]


async def test_a_log_beside_the_main_one_is_cut_when_it_is_added(databases: Databases, database: str):
    async with databases.fresh() as other:
        sites = Sites(database, {"b": other})
        await add_log(sites, "north", "b", 16)
        far = await asyncpg.connect(other)
        try:
            assert await partitions_of(far, "macao_log_north") == 16
            assert await partitions_of(far, "macao_log") == (PARTITIONS or ONE_TABLE)
            assert await partitions_of(far, "macao_log_south") == ONE_TABLE
            async with spread(database, f"b={other}") as log:
                await write(log, stream_in("north"), b"{}", b"{}")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await far.execute("DELETE FROM macao_log_north.events_003")
        finally:
            await far.close()
        with pytest.raises(LogsError, match="there is a log north already"):
            await add_log(sites, "north", "b", 16)
