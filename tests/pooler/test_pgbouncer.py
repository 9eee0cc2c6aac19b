"""The services behind PgBouncer in transaction mode: many clients, few sessions, and nothing that leaks between them.

``MACAO_TABLES`` says how many tables are played.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import asyncpg
import httpx
import pytest
import pytest_asyncio

from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.database import Database
from services.runtime.settings import SettingsError
from tests.failover.test_failover import check_tables
from tests.faults.test_kill import check_log, log_of
from tests.faults.test_many_processes import Cluster, Process, play, ready
from tests.store.writers import settings_for
from tests.support.pgbouncer import LOGIN, PgBouncer, find_pgbouncer, make_login
from tests.support.replicas import Owner
from tests.support.up import ROOT, open_directory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_pgbouncer() is None, reason="pgbouncer is not installed (Debian: apt install pgbouncer)"
    ),
]

TABLES: Final = int(os.environ.get("MACAO_TABLES", "6"))
SESSIONS: Final = 3
"""Fewer than clients that work at the same time."""


@pytest_asyncio.fixture(loop_scope="session")
async def direct(database: str) -> str:
    """The URL by which the services' login reaches the server."""
    return await make_login(database)


@pytest.fixture
def pooler(direct: str) -> Iterator[PgBouncer]:
    with (
        open_directory() as directory,
        PgBouncer(directory, direct, default_pool_size=str(SESSIONS), reserve_pool_size="0") as running,
    ):
        yield running


@pytest.fixture
async def cluster(pooler: PgBouncer, direct: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Two processes with everything in them."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MACAO_DATABASE_URL": pooler.url,
        "MACAO_DATABASE_DIRECT_URL": direct,
        "MACAO_REDIS_URL": redis_url,
        "MACAO_SECRET_KEY": "A" * 43,
        "MACAO_BOT_PACE_SECONDS": "0",
        "MACAO_LOG_LEVEL": "warning",
    }
    processes = [Process("all", environment, tmp_path / "service.log") for _ in range(2)]
    try:
        async with httpx.AsyncClient(timeout=30) as http:
            for process in processes:
                await ready(http, process)
            yield Cluster(processes, processes, http)
    finally:
        for process in processes:
            process.stop()


async def test_matches_are_played_through_few_sessions(
    cluster: Cluster, pooler: PgBouncer, database: str, tmp_path: Path
) -> None:
    played = await asyncio.gather(*(play(cluster, number) for number in range(TABLES)))
    for _, match in played:
        record = await cluster.ask("GET", f"/v1/matches/{match}/record")
        assert audit(read_record(record.content.splitlines(keepends=True)), CATALOGUE).sound
    check_log(await log_of(database))
    async with Owner(database) as owner:
        await check_tables(owner)
        through = await owner.fetch(
            "SELECT usename FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'macao'"
        )
        assert 1 <= len(through) <= SESSIONS
        assert {row[0] for row in through} == {LOGIN}
        past = await owner.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name LIKE 'macao %'"
        )
        # By process: two writers, the sealer, and the subscriptions of all services; as docs/operations.md adds up.
        assert past == 2 * (2 + 5 + 1 + 4)
    said = (tmp_path / "service.log").read_text()
    assert "prepared statement" not in said
    assert "ERROR" not in said, said


async def test_sessions_have_the_few_rights_whoever_borrows_them(pooler: PgBouncer, direct: str) -> None:
    async with Database(settings_for(pooler.url, database_direct_url=direct)) as database:
        for _ in range(2 * SESSIONS):
            assert await database.pool.fetchval("SELECT current_user::text") == "macao_app"
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.pool.execute("DELETE FROM macao_log.events")


async def test_statements_of_many_clients_do_not_get_mixed_up(pooler: PgBouncer, direct: str) -> None:
    settings = settings_for(pooler.url, database_direct_url=direct, database_pool_max=12)
    async with Database(settings) as one, Database(settings) as other:

        async def ask(database: Database, number: int) -> None:
            for turn in range(20):
                found = await database.pool.fetchrow(
                    f"SELECT $1::int AS a{number % 7}, $2::text AS b, pg_sleep(0.001)",
                    number,
                    f"{number} {turn}",
                )
                assert found is not None
                assert (found[f"a{number % 7}"], found["b"]) == (number, f"{number} {turn}")

        await asyncio.gather(*(ask(database, number) for number in range(20) for database in (one, other)))


async def test_a_pooler_where_the_server_is_wanted_is_noticed(pooler: PgBouncer, direct: str) -> None:
    with pytest.raises(SettingsError, match="name PostgreSQL itself in MACAO_DATABASE_DIRECT_URL"):
        await Database(settings_for(pooler.url)).open()
    with pytest.raises(SettingsError, match="MACAO_DATABASE_DIRECT_URL has to lead to PostgreSQL itself"):
        await Database(settings_for(pooler.url, database_direct_url=pooler.url)).open()


async def test_a_login_that_may_do_too_much_is_told_of(
    database: str, direct: str, pooler: PgBouncer, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(pooler.url, database_direct_url=direct)
    with caplog.at_level(logging.WARNING):
        async with Database(settings):
            assert "may write to the log past its function" not in caplog.text
        # The owner behind a pooler: stood for here by the owner without one.
        async with Database(settings_for(database, database_direct_url=database)):
            assert "may write to the log past its function" in caplog.text
