"""Whole matches over a network that cuts, delays, repeats, stalls and half-closes at random.

Two players and a spectator follow each match. Afterwards what they were told is held against the record, event by
event, and what the players did against its commands: nothing is missing, nothing stands there twice.

``MACAO_CUT_MATCHES`` says how many matches of each game are played, one as a rule; 20 make a hundred.
``--log-cli-level=info`` tells what they met.
"""

import asyncio
import json
import logging
import os
import random
from collections import Counter
from typing import Any, Final

import httpx
import pytest

from services.runtime.web.idempotency import command_id
from tests.support.bad_network import FAULTS, BadNetwork, Fate
from tests.support.careful import Caller, Follower, Player
from tests.support.up import Up

pytestmark = pytest.mark.slow

_logger: Final = logging.getLogger(__name__)

MATCHES: Final = int(os.environ.get("MACAO_CUT_MATCHES", "1"))
AT_ONCE: Final = 6
MOVES_MAX: Final = 2_000

GAMES: Final[dict[str, dict[str, Any]]] = {
    "dice-race": {},
    "dice-bank": {"laps": 1},
    "cards-bank": {"coups": 8},
    "cards-points": {"loss_limit": 200},
    "cards-places": {},
}


async def test_nobody_misses_or_doubles_an_event_or_a_move(up: Up) -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    async with BadNetwork("127.0.0.1", up.port, "a bad network") as network:

        async def one(game: str, number: int) -> Counter[str]:
            async with gate:
                return await play(up.url, f"http://127.0.0.1:{network.port}", game, number)

        counts = sum(
            await asyncio.gather(*(one(game, number) for number in range(MATCHES) for game in GAMES)),
            Counter(),
        )
    # Otherwise this would be a test of a good network.
    assert set(network.met) == set(Fate), network.met
    faults = sum(network.met[fate] for fate in FAULTS)
    assert faults > network.met.total() // 8
    assert counts["replays"] > MATCHES
    assert counts["streams"] > 2 * 3 * counts["matches"]
    _logger.info("%s, %d faults: %s", dict(counts), faults, dict(network.met))


async def play(good: str, bad: str, game: str, number: int) -> Counter[str]:
    """Play one match over the bad network, and compare what came of it over the good one."""
    chance = random.Random(f"{game} {number}")
    async with httpx.AsyncClient(base_url=bad) as http:
        players = [await player_of(http, f"Player {name}") for name in ("one", "two")]
        table, match = await seat(players, game)
        followers = [Follower(player.caller, match) for player in players]
        spectator = Follower(Caller(http), match)
        async with asyncio.TaskGroup() as group:
            for follower in (*followers, spectator):
                group.create_task(follower.follow())
            for player, follower in zip(players, followers, strict=True):
                group.create_task(play_on(player, follower, match, random.Random(chance.getrandbits(64))))
    async with httpx.AsyncClient(base_url=good, timeout=30) as http:
        record = [
            json.loads(line) for line in (await http.get(f"/v1/matches/{match}/record")).text.splitlines()
        ]
        verdict = (await http.get(f"/v1/matches/{match}/audit")).json()
        assert verdict["sound"], verdict
        shown = (await http.get(f"/v1/tables/{table}")).json()
        assert [seat["player"] for seat in shown["seats"]] == [player.id for player in players]
    lines = record[1:-1]
    for follower in (*followers, spectator):
        compare_events(follower.events, lines)
    for player in players:
        compare_moves(player, lines)
    return Counter(
        matches=1,
        events=len(lines),
        moves=sum(len(player.moves) for player in players),
        replays=sum(player.caller.replays for player in players),
        refused=sum(player.refused for player in players),
        streams=sum(follower.connections for follower in (*followers, spectator)),
    )


async def player_of(http: httpx.AsyncClient, name: str) -> Player:
    made = await Caller(http).write("/v1/players", {"name": name})
    return Player(Caller(http, made["token"]), made["player"]["id"])


async def seat(players: list[Player], game: str) -> tuple[str, str]:
    """Sit two players down and start the match; return the table and the match."""
    host, guest = players
    opened = await host.caller.write("/v1/tables", {"game": game, "seats": 2, "options": GAMES[game]})
    await guest.caller.write(f"/v1/tables/{opened['id']}/join", {"seed": "my-own-luck"})
    started = await host.caller.write(f"/v1/tables/{opened['id']}/start", {})
    return opened["id"], started["match_id"]


async def play_on(player: Player, follower: Follower, match: str, chance: random.Random) -> None:
    """Move whenever the own seat may, each time that something has happened."""
    for _ in range(MOVES_MAX):
        await follower.changed.wait()
        follower.changed.clear()
        view = await player.caller.read(f"/v1/matches/{match}")
        if view["turn"] is None:
            return
        # Whoever could call or catch out of turn does so now and then, as the others do not wait for it.
        if view["legal"] and (view["turn"] == view["your_seat"] or chance.random() < 0.3):
            await player.move(match, view["version"], choice(view["legal"], chance))
    raise AssertionError("the match does not end")


def choice(legal: list[dict[str, Any]], chance: random.Random) -> dict[str, Any]:
    """Choose a move, most often a play where there is one: by chance alone, shedding games go on for ever."""
    plays = [move for move in legal if move["type"] == "play"]
    move = chance.choice(plays if plays and chance.random() < 0.9 else legal)
    if move["type"] == "stake":
        return {"type": "stake", "amount": chance.randint(move["min"], move["max"])}
    return move


def compare_events(told: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    """Every event of the record was told, once, in its place, and with its hash."""
    assert [event["version"] for event in told] == [line["version"] for line in lines]
    for event, line in zip(told, lines, strict=True):
        for name in ("version", "type", "at_ms", "actor", "command", "seal", "hash"):
            assert event[name] == line[name], (name, event, line)
        if line["sealed"] is None:
            assert event["data"] == json.loads(line["body"])


def compare_moves(player: Player, lines: list[dict[str, Any]]) -> None:
    """The record has the moves that the player was told were made, and no others, once each and in order."""
    commands: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["actor"] == player.id:
            commands.setdefault(line["command"], []).append(line)
    assert list(commands) == [command_id(player.id, sent.key) for sent in player.moves]
    for sent, caused in zip(player.moves, commands.values(), strict=True):
        versions = [line["version"] for line in caused]
        assert versions == list(range(versions[0], versions[0] + len(versions)))
        assert versions == [event["version"] for event in sent.answer["events"]]
        assert [line["hash"] for line in caused] == [event["hash"] for event in sent.answer["events"]]
        assert json.loads(caused[0]["cause"])["move"] == sent.move
