"""The log refuses change, whoever asks."""

import asyncpg
import pytest
import pytest_asyncio

from services.runtime.database import Database
from services.runtime.log import EventLog
from tests.store.writers import Stream

CHANGES = [
    "UPDATE macao_log.events SET body = '{}'",
    "UPDATE macao_log.events SET body = body WHERE position < 0",
    "DELETE FROM macao_log.events",
    "DELETE FROM macao_log.events WHERE false",
    "TRUNCATE macao_log.events",
    "TRUNCATE macao_log.events, macao_log.streams CASCADE",
    "INSERT INTO macao_log.events TABLE macao_log.events ON CONFLICT (stream, version) DO UPDATE SET body = '{}'",
    "MERGE INTO macao_log.events AS e USING (SELECT 1) AS u ON true WHEN MATCHED THEN DELETE",
    "UPDATE macao_log.commands SET answer = '{}'",
    "DELETE FROM macao_log.commands",
    "TRUNCATE macao_log.commands",
    "UPDATE macao_log.streams SET version = version - 1",
    "UPDATE macao_log.streams SET hash = hash",
    "UPDATE macao_log.streams SET version = version + 1, kind = 'x'",
    "DELETE FROM macao_log.streams",
    "TRUNCATE macao_log.streams",
]


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def _written(log: EventLog):
    stream = Stream()
    for _ in range(2):
        item = stream.next()
        await log.append(item)
        stream.took(item)


async def test_refused_for_the_application(opened: Database):
    for change in CHANGES:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await opened.pool.execute(change)


async def test_refused_for_the_owner(owner: "asyncpg.Connection[asyncpg.Record]"):
    for change in CHANGES:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
            await owner.execute(change)
    assert await owner.fetchval("SELECT count(*) FROM macao_log.events") == 2


async def test_refused_where_ordinary_triggers_are_off(owner: "asyncpg.Connection[asyncpg.Record]"):
    """As for somebody who restores or replicates, and forgets to go back."""
    await owner.execute("SET session_replication_role = replica")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
        await owner.execute("DELETE FROM macao_log.events")


async def test_the_application_inserts_nothing_itself(opened: Database):
    for table in ("streams", "events", "commands"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await opened.pool.execute(f"INSERT INTO macao_log.{table} SELECT * FROM macao_log.{table}")


async def test_nobody_else_may_append(owner: "asyncpg.Connection[asyncpg.Record]"):
    rights = await owner.fetchval(
        "SELECT has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc WHERE proname = 'append_many'"
    )
    assert rights is False
