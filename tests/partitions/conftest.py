"""A log whose events are cut into partitions; what is opened on it is what the tests of the store open."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.store.conftest import empty, log, opened, owner
from tests.support.databases import PARTITIONS, Databases

__all__ = ["empty", "log", "opened", "owner"]

COUNT = PARTITIONS or 8


@pytest_asyncio.fixture(loop_scope="session")
async def database(databases: Databases) -> AsyncIterator[str]:
    async with databases.fresh(COUNT) as url:
        yield url
