"""Rows in PostgreSQL: a connection over empty tables, with the application's rights."""

import asyncpg
import pytest_asyncio

from tests.projections.support import PROJECTIONS


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(databases):
    async with databases.fresh() as url:
        connection = await asyncpg.connect(url)
        await connection.execute("SET ROLE macao_app")
        yield connection
        await connection.close()


@pytest_asyncio.fixture(loop_scope="session")
async def connection(shared):
    for projection in PROJECTIONS:
        await projection.clear(shared)
    return shared
