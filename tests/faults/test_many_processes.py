"""Two engine and two lobby processes on one database: tables of people and bots, and a kill -9 of one process of each.

``MACAO_TABLES`` says how many tables are played (300 by hand). Every table and record has to be consistent afterwards,
no clock runs out twice, and no match starts twice.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from services.cli.embedded.ports import free_port
from services.contracts.envelope import Event
from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.faults.test_kill import check_log, log_of
from tests.support.up import ROOT

pytestmark = pytest.mark.slow

TABLES: Final = int(os.environ.get("MACAO_TABLES", "16"))
AT_ONCE: Final = 16
PATIENCE_SECONDS: Final = 60.0

GAMES: Final[dict[str, dict[str, Any]]] = {
    "dice-race": {"chips_to_win": 2},
    "dice-bank": {"laps": 1},
    "cards-bank": {"coups": 4},
    "cards-points": {"loss_limit": 200},
    "cards-places": {},
}


class Process:
    """``macao serve`` of one service on a port of its own."""

    def __init__(self, service: str, environment: dict[str, str], output: Path) -> None:
        self.service = service
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = environment
        self._output = output
        self.start()

    def start(self) -> None:
        with self._output.open("a") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "services.cli", "serve", self.service, "--port", str(self.port)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


class Cluster:
    """The processes, and a client that asks another of them when one does not answer."""

    def __init__(self, engines: list[Process], lobbies: list[Process], http: httpx.AsyncClient) -> None:
        self.engines = engines
        self.lobbies = lobbies
        self._http = http
        self._chance = random.Random(5)

    async def ask(
        self, method: str, path: str, token: str | None = None, body: Any = None, **headers: str
    ) -> Any:
        """Ask until there is an answer for good, under one key."""
        processes = self.engines if path.startswith("/v1/matches") else self.lobbies
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if method == "POST":
            headers["Idempotency-Key"] = f"key-{uuid4().hex}"
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while True:
            url = self._chance.choice(processes).url
            try:
                answer = await self._http.request(method, url + path, json=body, headers=headers)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code not in (500, 502, 503):
                return answer
            assert loop.time() < deadline, f"no answer to {method} {path}: {answer and answer.text}"
            await asyncio.sleep(0.1)


@pytest.fixture
async def cluster(database: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Two engines, and two lobbies that each know one of them."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MACAO_DATABASE_URL": database,
        "MACAO_REDIS_URL": redis_url,
        "MACAO_SECRET_KEY": "A" * 43,
        "MACAO_BOT_PACE_SECONDS": "0",
        "MACAO_LOG_LEVEL": "warning",
    }
    engines = [Process("engine", environment, tmp_path / "engine.log") for _ in range(2)]
    lobbies = [
        Process("lobby", {**environment, "MACAO_ENGINE_URL": engine.url}, tmp_path / "lobby.log")
        for engine in engines
    ]
    try:
        async with httpx.AsyncClient(timeout=30) as http:
            for process in engines + lobbies:
                await ready(http, process)
            yield Cluster(engines, lobbies, http)
    finally:
        for process in lobbies + engines:
            process.stop()


async def ready(http: httpx.AsyncClient, process: Process) -> None:
    for _ in range(600):
        try:
            if (await http.get(f"{process.url}/health/live")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError(f"{process.service} does not start")


async def play(cluster: Cluster, number: int) -> tuple[str, str]:
    """Open a table for people and bots, play it to the end, and return table and match."""
    chance = random.Random(number)
    game = list(GAMES)[number % len(GAMES)]
    people = chance.randint(1, 2)
    tokens = []
    for seat in range(people):
        guest = await cluster.ask("POST", "/v1/players", body={"name": f"Guest {seat}"})
        tokens.append(guest.json()["token"])
    wanted = {"game": game, "seats": 3, "options": GAMES[game], "turn_seconds": 30}
    table = (await cluster.ask("POST", "/v1/tables", tokens[0], wanted)).json()["id"]
    for token in tokens[1:]:
        joined = await cluster.ask("POST", f"/v1/tables/{table}/join", token, {})
        assert joined.status_code == 200, joined.text
    for _ in range(3 - people):
        seated = await cluster.ask("POST", f"/v1/tables/{table}/bots", tokens[0], {"level": "casual"})
        assert seated.is_success, seated.text
    started = await cluster.ask("POST", f"/v1/tables/{table}/start", tokens[0], {})
    assert started.status_code == 200, started.text
    match = started.json()["match_id"]
    while not await over(cluster, match, tokens, chance):
        pass
    return table, match


async def over(cluster: Cluster, match: str, tokens: list[str], chance: random.Random) -> bool:
    """Have the person whose turn it is move; say whether the match is over."""
    for token in tokens:
        found = await cluster.ask("GET", f"/v1/matches/{match}", token)
        view = found.json()
        if view["status"] != "running":
            return True
        if view["turn"] == view["your_seat"] and view["legal"]:
            move = chance.choice(view["legal"])
            if move["type"] == "stake":
                move = {"type": "stake", "amount": move["min"]}
            answer = await cluster.ask(
                "POST",
                f"/v1/matches/{match}/moves",
                token,
                {"move": move},
                **{"If-Match": f'"{view["version"]}"'},
            )
            # Another process may show the match a moment late; and a bot may have called or caught meanwhile.
            assert answer.status_code in (200, 412, 409), answer.text
    await asyncio.sleep(0.02)
    return False


async def test_a_killed_process_of_each_kind_loses_and_doubles_nothing(
    cluster: Cluster, database: str
) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[str, str]:
        async with gate:
            return await play(cluster, number)

    playing = [asyncio.create_task(one(number)) for number in range(TABLES)]
    for victim in (cluster.engines[0], cluster.lobbies[1]):
        await asyncio.sleep(3)
        victim.kill()
        await asyncio.sleep(2)
        victim.start()
    played = await asyncio.gather(*playing)

    for table, match in played:
        record = await cluster.ask("GET", f"/v1/matches/{match}/record")
        verdict = audit(read_record(record.content.splitlines(keepends=True)), CATALOGUE)
        assert verdict.sound, verdict
        await open_again(cluster, table, match)
    events = await log_of(database)
    check_log(events)
    started = Counter(event.stream for _, event in events if event.type == "match-started")
    assert set(started.values()) == {1}
    assert {match for _, match in played} <= set(started)
    requested = Counter(event.stream for _, event in events if event.type == "match-requested")
    assert all(requested[table] == 1 for table, _ in played)
    expired = [event for _, event in events if event.actor == "clock" and event.cause is not None]
    assert len({event.command for event in expired}) == len(expired)
    assert not expired, [before_expiry(events, event) for event in expired]


def before_expiry(events: list[tuple[int, Event]], expired: Event) -> list[str]:
    """Tell what came before a clock ran out; here nobody takes 30 seconds, and no outage is charged to anybody."""
    stream = [
        event for _, event in events if event.stream == expired.stream and event.version <= expired.version
    ]
    return [stream[0].body.decode()] + [
        f"{event.at_ms} {event.actor} {event.cause!r} {event.body!r}" for event in stream[-6:]
    ]


async def open_again(cluster: Cluster, table: str, match: str) -> None:
    """The lobby has noticed the end of the match."""
    for _ in range(600):
        view = (await cluster.ask("GET", f"/v1/tables/{table}")).json()
        if view["state"] != "playing":
            assert view["match_id"] == match
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{table} still plays")
