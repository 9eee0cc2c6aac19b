"""All services in one app, and its document."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.projections.app import service as projections
from services.runtime.web.app import App
from services.runtime.web.schema import document_bytes
from tests.http.app import app_of, client_of, settings_of
from tests.support.databases import Databases
from tests.support.documented import merged
from tests.support.up import ROOT


class Site:
    """The running app."""

    def __init__(self, app: App, client: httpx.AsyncClient) -> None:
        self.app = app
        self.client = client
        self.document: dict[str, Any] = msgspec.json.decode(document_bytes(app))

    def service_token(self) -> str:
        return self.app.state["platform"].tokens.service_token("lobby")

    def token(self, *scopes: str, player: str = "p_01KB9YQ04N6P8R0T2V4X6Z8A0C") -> str:
        return self.app.state["platform"].tokens.access_token(player, frozenset(scopes))

    async def guest(self, name: str = "Ana") -> dict[str, Any]:
        made = await self.client.post("/v1/players", json={"name": name})
        assert made.status_code == 201, made.text
        return made.json()

    async def ask(self, token: str, method: str, path: str, body: Any, key: str, **headers: str) -> Any:
        response = await self.client.request(
            method, f"/v1{path}", json=body,
            headers={"Authorization": f"Bearer {token}", "Idempotency-Key": key, **headers},
        )  # fmt: skip
        assert response.is_success, response.text
        return response.json()

    async def table(self, token: str, key: str = "table", **more: Any) -> str:
        return (await self.ask(token, "POST", "/tables", {"game": "dice-race", "seats": 2, **more}, key))[
            "id"
        ]

    async def full_table(self) -> tuple[str, str, str]:
        """Return a table, its host's token, and the token of the other who sits there."""
        host, other = (await self.guest("Ana"))["token"], (await self.guest("Bo"))["token"]
        table = await self.table(host)
        await self.ask(other, "POST", f"/tables/{table}/join", {}, "join")
        return table, host, other


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(databases: Databases) -> AsyncIterator[Site]:
    async with databases.fresh() as database:
        app = app_of(settings_of(database, bots=False), [engine, lobby, projections])
        async with client_of(app) as client:
            yield Site(app, client)


@pytest.fixture(scope="session")
def committed() -> dict[str, Any]:
    """The committed documents as one."""
    names = ("engine", "lobby", "projections")
    return merged(json.loads((ROOT / "openapi" / f"{name}.json").read_text("utf-8")) for name in names)
