"""An open log on a fresh database."""

import itertools
import os
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import pytest_asyncio

from services.runtime.database import Database
from services.runtime.log import EventLog
from tests.store.writers import settings_for
from tests.support.databases import PARTITIONS

IN_BOTH_SHAPES = {"test_append", "test_order", "test_unchangeable"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What is true of events in one table is true in partitions (``MACAO_TEST_PARTITIONS``: in those alone)."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if PARTITIONS is None and module in IN_BOTH_SHAPES and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", [None, 8], ids=["one table", "8 partitions"], indirect=True)


@pytest_asyncio.fixture(loop_scope="session")
async def opened(database: str) -> AsyncIterator[Database]:
    async with Database(settings_for(database)) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def log(opened: Database) -> AsyncIterator[EventLog]:
    async with EventLog(opened) as log:
        yield log


@pytest_asyncio.fixture(loop_scope="session")
async def owner(database: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection with all the rights of whoever migrated."""
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


_numbers = itertools.count(1)


@pytest_asyncio.fixture(loop_scope="session")
async def empty(postgres_url: str) -> AsyncIterator[str]:
    """The URL of a database in which nothing was migrated yet."""
    name = f"macao_empty_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(postgres_url)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    finally:
        await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await connection.close()
