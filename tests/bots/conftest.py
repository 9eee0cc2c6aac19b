"""Engines with bots, on a real database; the pace is 0 unless a test says otherwise."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from services.engine.app import service
from services.runtime.log import EventLog
from services.runtime.platform import Platform
from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from tests.http.app import opened, settings_of

PATIENCE_SECONDS: Final = 60.0


class Table:
    """What the lobby and the players would ask of an engine."""

    def __init__(self, platform: Platform, http: httpx.AsyncClient) -> None:
        self.platform = platform
        self.http = http

    async def ask(self, player: str | None, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask as a player, as the lobby (``lobby``) or as nobody, and return the JSON of a good answer."""
        if player is not None:
            scopes = frozenset({"service"} if player == "lobby" else {"play"})
            headers["Authorization"] = f"Bearer {self.platform.tokens.access_token(player, scopes)}"
        if method != "GET":
            headers["Idempotency-Key"] = uuid4().hex
        answer = await self.http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    async def start(
        self, game: str, seats: Sequence[str | None], options: dict[str, Any] | None = None, **settings: Any
    ) -> str:
        """Start a match with bots of these levels; on a seat without a level (None) sits a person, ``p_person_0`` …"""
        asked = {"game": game, "seats": len(seats), "options": options or {}}
        committed = await self.ask("lobby", "POST", "/v1/commitments", asked)
        match: str = committed["match_id"]
        sitting = [
            {"player": f"p_person_{seat}" if level is None else f"p_bot_{match}_{seat}", "bot": level}
            for seat, level in enumerate(seats)
        ]
        body = {
            "match_id": match, "table_id": "t_1", "game": game, "options": committed["options"], "seats": sitting,
            "rated": False, **settings,
        }  # fmt: skip
        await self.ask("lobby", "POST", "/v1/matches", body)
        return match

    async def view(self, match: str, player: str | None = None) -> dict[str, Any]:
        view: dict[str, Any] = await self.ask(player, "GET", f"/v1/matches/{match}")
        return view

    async def ended(self, *started: str) -> None:
        """Wait until these matches are over."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for match in started:
                while (await self.view(match))["status"] == "running":
                    await asyncio.sleep(0.05)

    async def check(self, match: str) -> None:
        """A finished match is sound: chance, decisions, chain; and no bot has moved twice at one version."""
        verdict = await self.ask(None, "GET", f"/v1/matches/{match}/audit")
        assert verdict["sound"], verdict
        check_commands(self.platform.log, await events_of(self.platform.log, match))


def check_commands(_log: EventLog, events: list[Any]) -> None:
    """Every bot's command stands once, right behind the version that it names, and moves the seat that it names."""
    seen: set[str] = set()
    for event in events:
        if event.cause is None or not event.command.startswith("bot:"):
            continue
        _, _, version, seat = event.command.split(":")
        assert event.command not in seen
        seen.add(event.command)
        assert event.version == int(version) + 1
        assert json.loads(event.cause)["seat"] == int(seat)


async def events_of(log: EventLog, match: str) -> list[Any]:
    events: list[Any] = []
    while page := await log.read_stream(match, len(events)):
        events += [recorded.event for recorded in page]
    return events


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Table]:
    """Run an engine in this process."""
    app = create_app(settings, [service], platform=Platform(settings))
    async with opened(app):
        platform: Platform = app.state["platform"]
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://engine", timeout=30) as http:
            yield Table(platform, http)


@pytest.fixture
async def table(database: str, redis_url: str) -> AsyncIterator[Table]:
    """An engine with bots that do not wait."""
    async with serving(settings_of(database, redis_url, bot_pace_seconds=0)) as table:
        yield table
