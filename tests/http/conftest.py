"""The demo service, open, over a fresh database."""

from collections.abc import AsyncIterator

import httpx
import pytest_asyncio

from services.runtime.web.app import App
from services.runtime.web.request import PLATFORM
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.http.demo import demo
from tests.support.databases import Databases


class Demo:
    def __init__(self, app: App, client: httpx.AsyncClient, clock: TurnableClock) -> None:
        self.app = app
        self.client = client
        self.clock = clock
        self.platform = app.state[PLATFORM]

    def token(self, *scopes: str, player: str = "p_1") -> str:
        return self.platform.tokens.access_token(player, frozenset(scopes))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def demo_app(databases: Databases) -> AsyncIterator[Demo]:
    """Shared by a module's tests: none of them minds what the others left."""
    clock = TurnableClock()
    async with databases.fresh() as database:
        app = app_of(settings_of(database), [demo], clock)
        async with client_of(app) as client:
            yield Demo(app, client, clock)
