"""A hall for every test, with nobody in it yet."""

from collections.abc import AsyncIterator

import pytest

from tests.disputes.hall import Hall, open_hall
from tests.engine.conftest import TestClock


@pytest.fixture
async def hall(database: str, redis_url: str) -> AsyncIterator[Hall]:
    async with open_hall(database, redis_url, TestClock()) as hall:
        yield hall
