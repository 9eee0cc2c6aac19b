"""The engine alone, on a real database, with a clock that the test turns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.engine.app import service
from services.runtime.platform import Platform
from services.runtime.web.app import App, create_app
from tests.http.app import opened, settings_of


class TestClock:
    """A clock that stands still until it is turned."""

    __test__ = False

    def __init__(self, at_ms: int = 1_800_000_000_000) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms

    def turn(self, seconds: float) -> None:
        self.at_ms += round(seconds * 1000)


class Engine:
    """One engine process, and what the lobby and players would send to it."""

    def __init__(self, app: App, clock: TestClock) -> None:
        self.app = app
        self.clock = clock
        self.platform: Platform = app.state["platform"]
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://engine")

    async def as_(
        self, player: str | None, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Ask as a player, as the lobby (``lobby``), or as nobody (None)."""
        if player is not None:
            scopes = frozenset({"service"} if player == "lobby" else {"play"})
            headers["Authorization"] = f"Bearer {self.platform.tokens.access_token(player, scopes)}"
        if method != "GET":
            headers.setdefault("Idempotency-Key", uuid4().hex)
        return await self.http.request(method, path, json=body, headers=headers)

    async def start(
        self,
        players: int = 2,
        options: dict[str, Any] | None = None,
        game: str = "dice-race",
        **settings: Any,
    ) -> str:
        """Commit to and start a match among ``p_0``, ``p_1``, …, and return its id."""
        asked = {"game": game, "seats": players, "options": {"first": 0} if options is None else options}
        committed = (await self.as_("lobby", "POST", "/v1/commitments", asked)).json()
        body = {
            "match_id": committed["match_id"], "table_id": "t_1", "game": game, "options": committed["options"],
            "seats": [{"player": f"p_{seat}"} for seat in range(players)], "rated": True, **settings,
        }  # fmt: skip
        started = await self.as_("lobby", "POST", "/v1/matches", body)
        assert started.status_code == 200, started.text
        return committed["match_id"]

    async def view(self, match: str, player: str | None = None) -> dict[str, Any]:
        answer = await self.as_(player, "GET", f"/v1/matches/{match}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def move(self, match: str, player: str, move: dict[str, Any], **headers: str) -> httpx.Response:
        """Move at the present version."""
        if "If-Match" not in headers:
            headers["If-Match"] = f'"{(await self.view(match, player))["version"]}"'
        return await self.as_(player, "POST", f"/v1/matches/{match}/moves", {"move": move}, **headers)

    async def events(self, match: str) -> list[dict[str, Any]]:
        return (await self.as_(None, "GET", f"/v1/matches/{match}/events?limit=1000")).json()["items"]


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
async def engine(database: str, redis_url: str, clock: TestClock) -> AsyncIterator[Engine]:
    """An engine."""
    async with running(database, redis_url, clock) as engine:
        yield engine


@asynccontextmanager
async def running(database: str, redis_url: str, clock: TestClock) -> AsyncIterator[Engine]:
    """Run an engine."""
    settings = settings_of(database, redis_url)
    app = create_app(settings, [service], platform=Platform(settings, clock=clock))
    async with opened(app):
        engine = Engine(app, clock)
        async with engine.http:
            yield engine
