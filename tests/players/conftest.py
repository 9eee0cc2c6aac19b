"""A lobby with a second service beside it, as in production two processes: one database, perhaps one Redis."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio
from argon2.profiles import CHEAPEST

from services.lobby.app import service as lobby
from services.lobby.players import passwords
from services.runtime.platform import Platform
from services.runtime.web.request import PLATFORM
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.http.demo import demo

PASSWORD = "correct horse 7"

_keys = itertools.count(1)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def key() -> dict[str, str]:
    return {"Idempotency-Key": f"a-key-that-nobody-guesses-{next(_keys)}"}


class Person:
    """Somebody with a session."""

    def __init__(self, client: httpx.AsyncClient, made: dict[str, Any]) -> None:
        self.client = client
        self.id: str = made["player"]["id"]
        self.token: str = made["token"]
        self.refresh_token: str = made["refresh_token"]

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.client.request(
            method, f"/v1{path}", json=body, headers={**bearer(self.token), **headers}
        )

    async def become(self, name: str, password: str = PASSWORD) -> httpx.Response:
        return await self.ask("POST", "/players/me/credential", {"name": name, "password": password})

    async def refresh(self) -> httpx.Response:
        answer = await self.client.post("/v1/tokens/refresh", json={"refresh_token": self.refresh_token})
        if answer.is_success:
            self.token, self.refresh_token = answer.json()["token"], answer.json()["refresh_token"]
        return answer


class Site:
    """One app, and those who ask it."""

    def __init__(self, client: httpx.AsyncClient, platform: Platform, clock: TurnableClock) -> None:
        self.client = client
        self.platform = platform
        self.clock = clock

    async def guest(self, name: str = "Ana") -> Person:
        answer = await self.client.post("/v1/players", json={"name": name})
        assert answer.status_code == 201, answer.text
        return Person(self.client, answer.json())

    async def account(self, name: str, password: str = PASSWORD) -> Person:
        person = await self.guest()
        answer = await person.become(name, password)
        assert answer.status_code == 201, answer.text
        return person

    async def sign_in(self, name: str, password: str = PASSWORD, **headers: str) -> httpx.Response:
        return await self.client.post(
            "/v1/tokens", json={"name": name, "password": password}, headers=headers
        )

    async def whoami(self, token: str) -> httpx.Response:
        return await self.client.get("/v1/whoami", headers=bearer(token))


@asynccontextmanager
async def site_of(
    database: str, redis_url: str = "", *, only_demo: bool = False, **more: object
) -> AsyncIterator[Site]:
    """Open an app of its own: the lobby and the demo service, or the latter alone."""
    clock = TurnableClock()
    settings = settings_of(database, redis_url, **more)
    app = app_of(settings, [demo] if only_demo else [lobby, demo], clock)
    async with client_of(app) as client:
        yield Site(client, app.state[PLATFORM], clock)


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PARAMETERS", CHEAPEST)


@pytest_asyncio.fixture(loop_scope="session")
async def site(database: str) -> AsyncIterator[Site]:
    async with site_of(database) as one:
        yield one
