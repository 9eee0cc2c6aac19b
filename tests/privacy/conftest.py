"""A house for every test, with nobody in it yet."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from argon2.profiles import CHEAPEST

from services.lobby.players import passwords
from services.runtime import players
from tests.privacy.house import House, house_of


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PARAMETERS", CHEAPEST)


@pytest.fixture
def names_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process remembers a name."""
    monkeypatch.setattr(players, "CACHE_SECONDS", 0.0)


@pytest_asyncio.fixture(loop_scope="session")
async def house(database: str) -> AsyncIterator[House]:
    async with house_of(database) as one:
        yield one
