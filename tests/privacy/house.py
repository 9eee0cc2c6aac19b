"""All services in one app, with people in it who play."""

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from typing import Any

import httpx
from msgspec.structs import replace

from services.cli.main import main
from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.projections.app import service as projections
from services.runtime.platform import Platform
from services.runtime.web.request import PLATFORM
from tests.http.app import SECRET_KEY, TurnableClock, app_of, client_of, settings_of

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse 7"
MOVES_MAX = 200

_keys = itertools.count(1)


async def macao(*arguments: str) -> int:
    """Run the command line beside the loop; returns the exit code."""
    return await asyncio.to_thread(main, list(arguments))


async def apart(*arguments: str) -> int:
    """The same in a process of its own, for a command that minds signals."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "services.cli", *arguments, stdout=asyncio.subprocess.DEVNULL,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return await process.wait()


class Person:
    """Somebody with an account and a session."""

    def __init__(self, client: httpx.AsyncClient, made: dict[str, Any]) -> None:
        self.client = client
        self.id: str = made["player"]["id"]
        self.token: str = made["token"]
        self.refresh_token: str = made["refresh_token"]

    def at(self, client: httpx.AsyncClient) -> "Person":
        """Return the same person in front of another process."""
        other = copy(self)
        other.client = client
        return other

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Ask with a fresh key."""
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        if method != "GET":
            sent["Idempotency-Key"] = f"a-key-that-nobody-guesses-{next(_keys)}"
        return await self.client.request(method, f"/v1{path}", json=body, headers=sent)

    async def done(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask, and return the JSON of an answer that has to be a good one."""
        answer = await self.ask(method, path, body, **headers)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


class House:
    """The running app."""

    def __init__(self, client: httpx.AsyncClient, platform: Platform, clock: TurnableClock) -> None:
        self.client = client
        self.platform = platform
        self.clock = clock

    async def account(self, name: str) -> Person:
        """Make an account."""
        answer = await self.client.post("/v1/players", json={"name": name})
        assert answer.status_code == 201, answer.text
        person = Person(self.client, answer.json())
        await person.done("POST", "/players/me/credential", {"name": name, "password": PASSWORD})
        return person

    async def table(self, host: Person, *others: Person) -> dict[str, Any]:
        """Open a table of the dice race and sit everybody down."""
        opened = {"game": "dice-race", "seats": max(2, 1 + len(others)), "options": {"chips_to_win": 1}}
        table = await host.done("POST", "/tables", opened)
        for other in others:
            table = await other.done("POST", f"/tables/{table['id']}/join", {})
        return table

    async def started(self, host: Person, *others: Person) -> str:
        """Sit down and start a match; returns its id."""
        table = await self.table(host, *others)
        return (await host.done("POST", f"/tables/{table['id']}/start"))["match_id"]

    async def played(self, match: str, *players: Person, moves: int = MOVES_MAX) -> int:
        """Play so many moves, or to the end; returns how many were made."""
        by_id = {player.id: player for player in players}
        for made in range(moves):
            view = (await self.client.get(f"/v1/matches/{match}")).json()
            if view["status"] != "running":
                return made
            player = by_id[view["seats"][view["turn"]]["player"]]
            move = "roll" if view["view"]["total"] < 6 else "stand"
            await player.done(
                "POST",
                f"/matches/{match}/moves",
                {"move": {"type": move}},
                **{"If-Match": f'"{view["version"]}"'},
            )
        return moves

    async def until_ended(self, person: Person, match: str) -> None:
        """Wait until a player's history, which follows the log, shows a match as ended."""
        await self.until(
            f"/players/{person.id}/matches",
            lambda seen: (match, "ended") in {(item["id"], item["status"]) for item in seen["items"]},
        )

    async def until(self, path: str, wanted: Any, seconds: float = 20.0) -> Any:
        """Ask until the JSON of the answer is as ``wanted`` says; returns it."""
        async with asyncio.timeout(seconds):
            while True:
                answer = await self.client.get(f"/v1{path}")
                if answer.is_success and wanted(answer.json()):
                    return answer.json()
                await asyncio.sleep(0.05)


@asynccontextmanager
async def house_of(database: str, secret_key: str = SECRET_KEY, **more: Any) -> AsyncIterator[House]:
    """Open the app."""
    clock = TurnableClock()
    settings = replace(settings_of(database, bots=False, **more), secret_key=secret_key)
    app = app_of(settings, [lobby, engine, projections], clock)
    async with client_of(app) as client:
        yield House(client, app.state[PLATFORM], clock)
