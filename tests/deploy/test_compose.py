"""The image and the compose file: from nothing to matches through the proxy, and replaced under load without a loss."""

import asyncio
import json
import os
import random
import subprocess
import sys
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.deploy.installation import Installation
from tests.support.up import ROOT

pytestmark = pytest.mark.slow

TABLES: Final = 6
PATIENCE_SECONDS: Final = 60.0
REPLACED: Final = (
    "engine-1", "engine-2", "lobby-1", "lobby-2", "projections-1", "projections-2", "web-1", "web-2",
)  # fmt: skip


def test_a_service_runs_with_no_more_rights_than_it_needs(installation: Installation) -> None:
    assert installation.inspect("engine-1", "{{.Config.User}}") == "10001:10001"
    assert installation.inspect("engine-1", "{{.HostConfig.ReadonlyRootfs}}") == "true"
    assert installation.inspect("engine-1", "{{.State.Health.Status}}") == "healthy"
    who = installation.run(
        "exec", "-T", "-e", "PGPASSWORD", "postgres", "psql", "-h", "/var/run/postgresql", "-U", "macao", "-Atc",
        "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'macao%'",
    )  # fmt: skip
    assert who.split() == ["macao_service"]


def test_metrics_stay_inside(installation: Installation) -> None:
    assert httpx.get(f"{installation.url}/metrics").status_code == 404


def test_the_journeys_pass_through_the_proxy(installation: Installation) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/journeys/test_a_match.py",
            "tests/journeys/test_all_games.py",
        ],
        env={**os.environ, "MACAO_TEST_SERVER": installation.url, "MACAO_MATCHES": "2"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout, done.stdout


class Person:
    """A player whose client asks again, under the same key, until it has an answer for good."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.token = ""

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if method == "POST":
            headers["Idempotency-Key"] = uuid4().hex
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            try:
                answer = await self.http.request(method, path, json=body, headers=headers)
            except httpx.TransportError as error:
                answer, why = None, repr(error)
            else:
                if answer.status_code not in (500, 502, 503, 504):
                    return answer
                why = answer.text
            assert asyncio.get_running_loop().time() < deadline, f"no answer to {method} {path}: {why}"
            await asyncio.sleep(0.1)

    async def good(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = await self.ask(method, path, body, **headers)
        assert answer.is_success, answer.text
        return answer.json()


async def follow(http: httpx.AsyncClient, match: str, heard: list[int]) -> None:
    """Keep the versions of a match's stream as a client does that reconnects with its last id, until it is over."""
    last = None
    while True:
        headers = {} if last is None else {"Last-Event-ID": last}
        try:
            async with http.stream("GET", f"/v1/matches/{match}/stream", headers=headers) as answer:
                event = ""
                async for line in answer.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        event = value
                    elif name == "id":
                        last = value
                    elif name == "data" and event == "snapshot" and not heard:
                        heard.append(json.loads(value)["version"])
                    elif name == "data" and event not in ("snapshot", "keep-alive"):
                        heard.append(json.loads(value)["version"])
                        if event == "seed-revealed":
                            return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)


async def play(
    http: httpx.AsyncClient, number: int, stop: asyncio.Event
) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
    """Matches at one table until told to stop; returns the number of moves and what was acknowledged, by match."""
    chance = random.Random(number)
    people = [Person(http) for _ in range(2)]
    for seat, person in enumerate(people):
        person.token = (await person.good("POST", "/v1/players", {"name": f"Guest {seat}"}))["token"]
    host, other = people
    game = "cards-places" if number % 2 else "dice-race"
    table = (await host.good("POST", "/v1/tables", {"game": game, "seats": 2}))["id"]
    await other.good("POST", f"/v1/tables/{table}/join", {})
    answers: list[tuple[str, dict[str, Any]]] = []
    while not stop.is_set():
        await until_open(host, table)
        match = (await host.good("POST", f"/v1/tables/{table}/start", {}))["match_id"]
        heard: list[int] = []
        following = asyncio.create_task(follow(http, match, heard))
        while (view := await host.good("GET", f"/v1/matches/{match}"))["status"] == "running":
            person = people[view["turn"]]
            own = await person.good("GET", f"/v1/matches/{match}")
            if own["turn"] != own["your_seat"] or not own["legal"]:
                continue
            version = {"If-Match": f'"{own["version"]}"'}
            answer = await person.ask(
                "POST", f"/v1/matches/{match}/moves", {"move": chance.choice(own["legal"])}, **version
            )
            assert answer.status_code in (200, 412), answer.text
            if answer.status_code == 200:
                answers.append((match, answer.json()))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await following
        last = view["version"]
        assert heard == list(range(heard[0], last + 1)), (match, heard)
    return len(answers), answers


async def until_open(host: Person, table: str) -> None:
    for _ in range(600):
        if (await host.good("GET", f"/v1/tables/{table}"))["state"] == "open":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{table} still plays")


async def test_a_rolling_restart_loses_no_move_and_no_event(installation: Installation) -> None:
    stop = asyncio.Event()
    async with httpx.AsyncClient(
        base_url=installation.url, timeout=30, limits=httpx.Limits(max_connections=64)
    ) as http:
        playing = [asyncio.create_task(play(http, number, stop)) for number in range(TABLES)]
        await asyncio.sleep(2)
        for service in REPLACED:
            before = installation.container(service)
            await asyncio.to_thread(installation.replace, service)
            assert installation.container(service) != before
            for task in playing:
                if task.done():
                    task.result()
        stop.set()
        played = await asyncio.gather(*playing)
        records = {
            match: (await Person(http).ask("GET", f"/v1/matches/{match}/record")).content
            for _, answers in played
            for match in {match for match, _ in answers}
        }
    assert sum(moves for moves, _ in played) > 100 * TABLES
    for _, answers in played:
        for match, answer in answers:
            lines = [json.loads(line) for line in records[match].splitlines()]
            for event in answer["events"]:
                kept = lines[event["version"]]
                assert (kept["version"], kept["type"]) == (event["version"], event["type"])
    for record in records.values():
        verdict = audit(read_record(record.splitlines(keepends=True)), CATALOGUE)
        assert verdict.sound, verdict
