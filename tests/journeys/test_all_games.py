"""Whole matches of every game over the API: seats driven by random legal moves of clients with tokens of their own.

Everything that a client is told is kept, and held against the full record afterwards: no response contains a card that
its client may not have known then. ``MACAO_MATCHES`` says how many matches of each game are played (200 by hand).
"""

import asyncio
import json
import os
import random
import re
from collections import Counter
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE

pytestmark = pytest.mark.slow

MATCHES: Final = int(os.environ.get("MACAO_MATCHES", "4"))
AT_ONCE: Final = 8
MOVES_MAX: Final = 6000
VERSIONS_MAX: Final = 40
CARD: Final = re.compile(r'"([A2-9TJQK][CDHS]|[BR]J)"')

SHORT: Final[dict[str, list[dict[str, Any]]]] = {
    "dice-race": [{}, {"stakes": "dangerous", "max_rounds": 5}, {"pontoon": True, "instant_win": True}],
    "dice-bank": [{"laps": 1}, {"laps": 1, "max_stake": 5, "exact_pays_double": True}],
    "cards-bank": [{}, {"decks": 2, "coups": 4}],
    "cards-points": [{"loss_limit": 200}, {"loss_limit": 200, "macao_call": "last_card"}],
    "cards-places": [{}, {"king_reverses": True, "joker_wild": True, "seven_cancels": True}],
}


class Client:
    """One player's client, and everything that it was told before the match was over."""

    def __init__(self, http: httpx.AsyncClient, token: str, player: str) -> None:
        self.http = http
        self.token = token
        self.player = player
        self.views: list[dict[str, Any]] = []
        self.events: dict[int, dict[str, Any]] = {}

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        headers |= {"Authorization": f"Bearer {self.token}"}
        if method == "POST":
            headers["Idempotency-Key"] = uuid4().hex
        return await self.http.request(method, path, json=body, headers=headers)

    async def view(self, match: str) -> dict[str, Any]:
        answer = await self.ask("GET", f"/v1/matches/{match}")
        assert answer.status_code == 200, answer.text
        if answer.json()["status"] == "running":
            self.views.append(answer.json())
        return answer.json()

    def heard(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            self.events.setdefault(event["version"], event)


async def client_of(http: httpx.AsyncClient, name: str) -> Client:
    answer = await http.post("/v1/players", json={"name": name})
    assert answer.status_code == 201, answer.text
    return Client(http, answer.json()["token"], answer.json()["player"]["id"])


def concrete(move: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Turn a stake's range into a stake."""
    if move["type"] == "stake":
        return {"type": "stake", "amount": chance.randint(move["min"], move["max"])}
    return move


async def play(http: httpx.AsyncClient, game: str, number: int) -> None:
    """Play one match to its end, and check everything that anybody was told."""
    chance = random.Random(f"{game}{number}")
    rules = CATALOGUE.game(game)
    assert rules
    count = chance.randint(rules.seats_min if game != "cards-bank" else 2, min(rules.seats_max, 4))
    clients = [await client_of(http, f"Player {seat}") for seat in range(count)]
    host = clients[0]
    options = SHORT[game][number % len(SHORT[game])]
    wanted = {"game": game, "seats": count, "options": options, "turn_seconds": None}
    opened = await host.ask("POST", "/v1/tables", wanted)
    assert opened.status_code == 201, opened.text
    table = opened.json()["id"]
    for client in clients[1:]:
        assert (await client.ask("POST", f"/v1/tables/{table}/join", {})).status_code == 200
    started = await host.ask("POST", f"/v1/tables/{table}/start", {})
    assert started.status_code == 200, started.text
    match = started.json()["match_id"]
    for _ in range(MOVES_MAX):
        if not await step(clients, match, chance):
            break
    else:
        raise AssertionError(f"{game} does not end")
    record = (await http.get(f"/v1/matches/{match}/record")).content
    verdict = audit(read_record(record.splitlines(keepends=True)), CATALOGUE)
    assert verdict.sound, verdict
    lines = lines_of(record)
    for seat, client in enumerate(clients):
        check_events(seat, client, lines)
        check_views(seat, client, lines)
    await check_versions(chance.choice(clients), match, lines)


async def step(clients: list[Client], match: str, chance: random.Random) -> bool:
    """Have a player who may act do so; say whether the match goes on."""
    somebody = await chance.choice(clients).view(match)
    if somebody["turn"] is None:
        return False
    client = clients[chance.choice(somebody["to_act"])]
    own = await client.view(match)
    if own["turn"] is None:
        return False
    if not own["legal"]:
        return True
    move = concrete(chance.choice(own["legal"]), chance)
    if chance.random() < 0.002:
        move = {"type": "leave"}
    answer = await client.ask(
        "POST", f"/v1/matches/{match}/moves", {"move": move}, **{"If-Match": f'"{own["version"]}"'}
    )
    assert answer.status_code == 200, (move, answer.text)
    if answer.json()["status"] == "running":
        client.heard(answer.json()["events"])
        if chance.random() < 0.05:
            page = await chance.choice(clients).ask("GET", f"/v1/matches/{match}/events?limit=1000")
            clients[[one.token for one in clients].index(page.request.headers["Authorization"][7:])].heard(
                page.json()["items"]
            )
    return True


def lines_of(record: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.splitlines()[1:-1]]


def cards_in(text: str) -> Counter[str]:
    return Counter(CARD.findall(text))


def known_to(seat: int, line: dict[str, Any]) -> Counter[str]:
    """The cards that an event shows to a seat: those in public, those that came to the seat, and its own hand."""
    known = cards_in(line["body"])
    if line["sealed"] is not None:
        whole = json.loads(line["sealed"])
        if whole.get("seat") == seat:
            known += cards_in(json.dumps({name: value for name, value in whole.items() if name != "draw"}))
        elif "hands" in whole:
            known += cards_in(json.dumps(whole["hands"][seat]))
    return known


def check_events(seat: int, client: Client, lines: list[dict[str, Any]]) -> None:
    """Of what an event hid from the public, a player heard nothing but what came to the own seat."""
    for version, heard in client.events.items():
        line = lines[version - 1]
        assert line["version"] == version
        excess = cards_in(json.dumps(heard["data"])) - known_to(seat, line)
        assert not excess, (seat, version, heard, line)


def check_views(seat: int, client: Client, lines: list[dict[str, Any]]) -> None:
    """A position, or a list of legal moves, shows no card that the seat has not come to know in this deal."""
    views: dict[int, list[dict[str, Any]]] = {}
    for view in client.views:
        views.setdefault(view["version"], []).append(view)
    known: set[str] = set()
    for line in lines:
        if line["type"] == "round-started":
            known = set()
        known |= set(known_to(seat, line))
        for view in views.get(line["version"], []):
            strange = set(cards_in(json.dumps([view["view"], view["legal"]]))) - known
            assert not strange, (seat, line["version"], strange, view)


async def check_versions(client: Client, match: str, lines: list[dict[str, Any]]) -> None:
    """The match can be seen as it was at each version; between the events of one command nobody is to act."""
    commands = [line["command"] for line in lines]
    for version, command in enumerate(commands[:VERSIONS_MAX], 1):
        answer = await client.ask("GET", f"/v1/matches/{match}/state?at={version}")
        assert answer.status_code == 200, (version, answer.text)
        shown = answer.json()
        assert shown["version"] == version
        unsettled = command == commands[version] if version < len(commands) else True
        assert (shown["turn"] is None) == unsettled, (version, shown)
        assert bool(shown["to_act"]) is not unsettled
        assert not (unsettled and shown["legal"])


async def test_whole_matches_of_every_game(server_url: str) -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(base_url=server_url, timeout=60, limits=limits) as http:

        async def one(game: str, number: int) -> None:
            async with gate:
                await play(http, game, number)

        await asyncio.gather(*(one(game, number) for number in range(MATCHES) for game in SHORT))


def test_every_game_is_played_here() -> None:
    assert set(SHORT) == {rules.name for rules in CATALOGUE.newest()}
