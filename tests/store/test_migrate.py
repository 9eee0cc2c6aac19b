"""Migrations: once, in order, by one process at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from services.runtime.database import Database
from services.runtime.log import Appended, EventLog
from services.runtime.migrate import MigrationError, Source, installed_sources, migrate
from tests.store.writers import Stream, settings_for

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "functions").mkdir()
    (tmp_path / "migrations" / "0001_one.sql").write_text(
        "CREATE SCHEMA toy; CREATE TABLE toy.one (n integer);"
    )
    (tmp_path / "migrations" / "0002_two.sql").write_text("INSERT INTO toy.one VALUES (1);")
    (tmp_path / "functions" / "answer.sql").write_text(_answer(1))
    return tmp_path


def _answer(value: int) -> str:
    return f"CREATE OR REPLACE FUNCTION toy.answer() RETURNS integer LANGUAGE sql AS 'SELECT {value}'"


async def test_an_empty_database_gets_everything_and_then_nothing(empty: str):
    done = await migrate(empty)
    assert "log/migrations/0003_events" in done
    assert "log/functions/append_many" in done
    assert await migrate(empty) == []


async def test_two_processes_at_once(empty: str):
    results = await asyncio.gather(*(migrate(empty) for _ in range(4)))
    assert sorted(map(len, results))[:3] == [0, 0, 0]
    assert max(map(len, results)) == sum(len(source.scripts) for source in installed_sources())


async def test_migrations_run_once_and_functions_when_they_change(database: str, owner: Owner, sql: Path):
    assert await migrate(database, [Source.read("toy", sql)]) == [
        "toy/migrations/0001_one", "toy/migrations/0002_two", "toy/functions/answer",
    ]  # fmt: skip
    assert await migrate(database, [Source.read("toy", sql)]) == []
    (sql / "functions" / "answer.sql").write_text(_answer(2))
    (sql / "migrations" / "0003_three.sql").write_text("INSERT INTO toy.one VALUES (3);")
    assert await migrate(database, [Source.read("toy", sql)]) == [
        "toy/migrations/0003_three",
        "toy/functions/answer",
    ]
    assert await owner.fetchval("SELECT toy.answer()") == 2
    assert await owner.fetchval("SELECT array_agg(n) FROM toy.one") == [1, 3]


async def test_a_changed_migration_is_refused(database: str, owner: Owner, sql: Path):
    await migrate(database, [Source.read("toy", sql)])
    (sql / "migrations" / "0002_two.sql").write_text("INSERT INTO toy.one VALUES (2);")
    with pytest.raises(MigrationError, match=r"toy/migrations/0002_two was changed .* new migration"):
        await migrate(database, [Source.read("toy", sql)])
    assert await owner.fetchval("SELECT array_agg(n) FROM toy.one") == [1]


async def test_a_failing_migration_leaves_nothing_of_its_package(database: str, owner: Owner, sql: Path):
    (sql / "migrations" / "0002_two.sql").write_text("INSERT INTO toy.nowhere VALUES (2);")
    with pytest.raises(MigrationError, match="0002_two failed"):
        await migrate(database, [Source.read("toy", sql)])
    assert await owner.fetchval("SELECT to_regnamespace('toy')") is None


async def test_numbers_are_unique_and_names_are_numbered(sql: Path):
    (sql / "migrations" / "0002_again.sql").write_text("SELECT 1")
    with pytest.raises(MigrationError, match="number of its own"):
        Source.read("toy", sql)
    (sql / "migrations" / "0002_again.sql").rename(sql / "migrations" / "late.sql")
    with pytest.raises(MigrationError, match="number of its own"):
        Source.read("toy", sql)


@asynccontextmanager
async def login(empty: str, name: str, *rights: str) -> AsyncIterator[tuple[str, Owner]]:
    """Give a login that owns the empty database and has these rights besides; its URL, and an administrator."""
    admin = await asyncpg.connect(empty)
    database = await admin.fetchval("SELECT current_database()")
    try:
        await admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret' {' '.join(rights)}")
        await admin.execute(f"ALTER DATABASE {database} OWNER TO {name}")
        parts = urlsplit(empty)
        address = f"{name}:secret@{parts.netloc.rpartition('@')[2]}"
        yield urlunsplit(parts._replace(netloc=address)), admin
    finally:
        await admin.execute(
            f"ALTER DATABASE {database} OWNER TO CURRENT_USER; DROP OWNED BY {name} CASCADE; DROP ROLE {name}"
        )
        await admin.close()


async def test_a_login_without_the_right_to_make_roles_is_told_what_to_do(empty: str):
    async with login(empty, "macao_test_weak") as (url, _):
        with pytest.raises(
            MigrationError, match="let an administrator run: CREATE ROLE macao_app NOLOGIN; GRANT"
        ):
            await migrate(url)


async def test_a_login_that_owns_the_database_and_is_in_the_role_is_enough(empty: str):
    """As managed databases give one: no superuser."""
    async with login(empty, "macao_test_plain") as (url, admin):
        await admin.execute("GRANT macao_app TO macao_test_plain")
        assert await migrate(url)
        assert await migrate(url) == []
        async with Database(settings_for(url)) as opened, EventLog(opened) as log:
            assert await opened.pool.fetchval("SELECT current_user") == "macao_app"
            assert await log.append(Stream().next()) == Appended(1, 1)


async def test_a_login_of_the_service_itself_needs_no_rights_but_the_roles(empty: str):
    """The strictest set-up: one login migrates, another, which owns nothing, serves."""
    await migrate(empty)
    async with login(empty, "macao_test_serves") as (url, admin):
        await admin.execute("GRANT macao_app TO macao_test_serves")
        async with Database(settings_for(url)) as opened, EventLog(opened) as log:
            assert await log.append(Stream().next()) == Appended(1, 1)
