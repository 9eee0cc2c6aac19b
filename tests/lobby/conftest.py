"""A lobby with a fake engine beside it, and players to sit at its tables."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest_asyncio

from services.lobby.app import service as lobby
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.lobby.fake_engine import FakeEngine

_keys = itertools.count(1)


class Guest:
    """A player with a token; every write has a fresh key unless one is given."""

    def __init__(self, client: httpx.AsyncClient, made: dict[str, Any]) -> None:
        self.client = client
        self.id = made["player"]["id"]
        self.token = made["token"]
        self.refresh_token = made["refresh_token"]

    async def ask(
        self, method: str, path: str, body: Any = None, *, key: str | None = None
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        if method != "GET":
            headers["Idempotency-Key"] = key or f"key-{next(_keys)}"
        return await self.client.request(method, f"/v1{path}", json=body, headers=headers)

    async def get(self, path: str) -> httpx.Response:
        return await self.ask("GET", path)

    async def post(self, path: str, body: Any = None, *, key: str | None = None) -> httpx.Response:
        return await self.ask("POST", path, body, key=key)


class Lobby:
    """The running app."""

    def __init__(self, client: httpx.AsyncClient, engine: FakeEngine, clock: TurnableClock) -> None:
        self.client = client
        self.engine = engine
        self.clock = clock

    async def guest(self, name: str = "Ana") -> Guest:
        response = await self.client.post("/v1/players", json={"name": name})
        assert response.status_code == 201, response.text
        return Guest(self.client, response.json())

    async def table(self, host: Guest, **more: Any) -> dict[str, Any]:
        response = await host.post("/tables", {"game": "dice-race", "seats": 2, **more})
        assert response.status_code == 201, response.text
        table: dict[str, Any] = response.json()
        return table


@pytest_asyncio.fixture(loop_scope="session")
async def lobby_app(database: str) -> AsyncIterator[Lobby]:
    engine, clock = FakeEngine(), TurnableClock()
    app = app_of(settings_of(database), [engine.service, lobby], clock)
    async with client_of(app) as client:
        yield Lobby(client, engine, clock)
