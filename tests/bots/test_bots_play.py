"""Bots in the service: whole matches, next to people, in several engines, and nothing that they do twice."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import httpx
import psutil
import pytest

from services.cli.embedded.ports import free_port
from services.engine.bots.bot import Bot, Situation
from services.engine.bots.catalogue import BOTS, Bots
from services.engine.rules.banking import Stake
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.games.dice_race import Stand
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Call, Catch, Play
from tests.bots.conftest import Table, events_of, serving
from tests.http.app import SECRET_KEY, settings_of
from tests.support.up import ROOT

GAMES = [rules.name for rules in CATALOGUE.newest()]
SHORT: dict[str, dict[str, Any]] = {
    "dice-race": {}, "dice-bank": {"laps": 1}, "cards-bank": {"coups": 4}, "cards-places": {},
    "cards-points": {"loss_limit": 200},
}  # fmt: skip


async def test_bots_play_whole_matches_of_every_game(table: Table) -> None:
    started = [
        await table.start(game, ("sharp", "casual", "casual"), SHORT[game])
        for game in GAMES
        for _ in range(2)
    ]
    await table.ended(*started)
    for match in started:
        await table.check(match)
    left = await table.platform.database.pool.fetchval("select count(*) from macao_engine.bot_matches")
    assert left == 0


async def test_two_engines_share_the_matches_and_move_once(database: str, redis_url: str) -> None:
    settings = settings_of(database, redis_url, bot_pace_seconds=0)
    async with serving(settings) as one, serving(settings) as other:
        started = [
            await (one, other)[number % 2].start(GAMES[number % 3], ("casual", "sharp"))
            for number in range(12)
        ]
        await one.ended(*started)
        for match in started:
            await other.check(match)


async def test_two_processes_with_the_same_match_move_once(database: str, redis_url: str) -> None:
    """Leases only save work: also when both hold everything, no move is made twice."""
    settings = settings_of(database, redis_url, bot_pace_seconds=0)
    async with serving(settings) as one, serving(settings) as other:
        stop = asyncio.Event()

        async def forget_who_holds() -> None:
            while not stop.is_set():
                await one.platform.database.pool.execute(
                    "update macao_engine.bot_matches set held_until = '-infinity'"
                )
                await asyncio.sleep(0.01)

        forgetting = asyncio.create_task(forget_who_holds())
        started = [await one.start("dice-race", ("casual", "sharp"), {"chips_to_win": 20}) for _ in range(6)]
        await one.ended(*started)
        stop.set()
        await forgetting
        for match in started:
            await other.check(match)


async def test_a_bot_plays_beside_people(table: Table) -> None:
    chance = Random(1)
    match = await table.start("dice-bank", (None, "sharp", None), {"laps": 1, "max_stake": 3})
    while (view := await table.view(match))["status"] == "running":
        player = f"p_person_{view['turn']}"
        own = await table.view(match, player)
        if own["turn"] is None or own["your_seat"] != own["turn"]:
            await asyncio.sleep(0.01)
            continue
        move = chance.choice(own["legal"])
        if move["type"] == "stake":
            move = {"type": "stake", "amount": move["min"]}
        path = f"/v1/matches/{match}/moves"
        await table.ask(player, "POST", path, {"move": move}, **{"If-Match": f'"{own["version"]}"'})
    await table.check(match)
    events = await events_of(table.platform.log, match)
    assert {event.actor for event in events} == {"lobby", "p_person_0", "p_person_2", f"p_bot_{match}_1"}


async def test_another_engine_goes_on_when_one_stops(database: str, redis_url: str) -> None:
    slow = settings_of(database, redis_url, bot_pace_seconds=0.05)
    async with serving(slow) as stays:
        async with serving(slow) as stops:
            started = [
                await stops.start("dice-race", ("sharp", "casual"), {"chips_to_win": 4}) for _ in range(8)
            ]
            await asyncio.sleep(0.5)
        await stays.ended(*started)
        for match in started:
            await stays.check(match)


async def test_the_pace_is_kept(database: str, redis_url: str) -> None:
    async with serving(settings_of(database, redis_url, bot_pace_seconds=0.2)) as table:
        match = await table.start("dice-race", ("sharp", "sharp"), {"chips_to_win": 1})
        await table.ended(match)
        times = [event.at_ms for event in await events_of(table.platform.log, match) if event.cause]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        assert pauses
        assert min(pauses) >= 0.6 * 200


async def test_an_engine_without_bots_leaves_them_to_others(database: str, redis_url: str) -> None:
    without = settings_of(database, redis_url, bot_pace_seconds=0, bots=False)
    async with serving(without) as table:
        match = await table.start("dice-race", ("sharp", "sharp"))
        await asyncio.sleep(0.3)
        begun = await table.view(match)
        assert (begun["status"], begun["version"]) == ("running", (await table.view(match))["version"])
        async with serving(settings_of(database, redis_url, bot_pace_seconds=0)):
            await table.ended(match)


# Bots that go wrong


def failing(_situation: Situation, _chance: Random) -> Move | None:
    raise ArithmeticError("a bot is out of its mind")


def idle(_situation: Situation, _chance: Random) -> Move | None:
    return None


def cheating(situation: Situation, _chance: Random) -> Move | None:
    return Stand() if not situation.view.total else BOTS.bot("dice-race", "casual").choose(situation, _chance)


def shameless(_situation: Situation, _chance: Random) -> Move | None:
    return Stake(1_000_000)


@pytest.mark.parametrize("choose", [failing, idle, cheating, shameless])
async def test_a_match_goes_on_with_a_bot_that_goes_wrong(
    database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, choose: Any
) -> None:
    monkeypatch.setattr("services.engine.app.BOTS", Bots([Bot("dice-race", "sharp", choose)]))
    monkeypatch.setattr("services.engine.bots.player.FALSE_STEP_SECONDS", 0.0)
    async with serving(settings_of(database, redis_url, bot_pace_seconds=0)) as table:
        match = await table.start("dice-race", ("sharp", "casual"), {"chips_to_win": 1})
        await table.ended(match)
        await table.check(match)


async def test_a_thinker_that_dies_is_replaced(database: str, redis_url: str) -> None:
    async with serving(settings_of(database, redis_url, bot_pace_seconds=0.02)) as table:
        started = [await table.start("dice-race", ("sharp", "casual"), {"chips_to_win": 3}) for _ in range(4)]
        for _ in range(3):
            await asyncio.sleep(0.7)
            for child in psutil.Process().children(recursive=True):
                if "spawn_main" in " ".join(child.cmdline()):
                    child.kill()
        await table.ended(*started)
        for match in started:
            await table.check(match)


# Catching


def silent(situation: Situation, chance: Random) -> Move | None:
    """Get rid of cards, and never say the word."""
    if not situation.on_turn:
        return None
    plays = [move for move in situation.legal if isinstance(move, Play) and not move.macao]
    return (
        chance.choice(plays)
        if plays
        else next(move for move in situation.legal if not isinstance(move, Call))
    )


def watchful(situation: Situation, chance: Random) -> Move | None:
    """Catch whoever can be caught, before anything else."""
    catches = [move for move in situation.legal if isinstance(move, Catch)]
    return catches[0] if catches else silent(situation, chance) if situation.on_turn else None


@pytest.mark.slow
async def test_a_bot_gives_people_three_seconds_before_it_catches_them(
    database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bots = Bots([Bot("cards-places", "casual", silent), Bot("cards-places", "sharp", watchful)])
    monkeypatch.setattr("services.engine.app.BOTS", bots)
    async with serving(settings_of(database, redis_url, bot_pace_seconds=0.01)) as table:
        started = [await table.start("cards-places", ("casual", "sharp")) for _ in range(6)]
        await table.ended(*started)
        pauses = []
        for match in started:
            events = await events_of(table.platform.log, match)
            # By command: a catch may have other events before it, where the pile has to be turned.
            begun = {event.command: event.at_ms for event in events}
            caught = {event.command for event in events if event.type == "macao-caught"}
            pauses += [
                begun[command] - begun[before] for before, command in pairwise(begun) if command in caught
            ]
    assert pauses
    assert min(pauses) >= 3_000


# Processes that are killed


@asynccontextmanager
async def process(database: str, redis_url: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an engine in a process of its own."""
    environment = os.environ | {
        "MACAO_DATABASE_URL": database, "MACAO_REDIS_URL": redis_url, "MACAO_SECRET_KEY": SECRET_KEY,
        "MACAO_BOT_PACE_SECONDS": "0.05",
    }  # fmt: skip
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.cli", "serve", "engine", "--port", str(port), cwd=ROOT, env=environment,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http, asyncio.timeout(60):
            while True:
                try:
                    if (await http.get("/health/ready")).is_success:
                        break
                except httpx.TransportError:
                    assert started.returncode is None, "the engine does not start"
                await asyncio.sleep(0.05)
        yield started
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


@pytest.mark.slow
async def test_kill_9_in_the_middle_of_many_matches(database: str, redis_url: str) -> None:
    """Twenty matches at tables with a clock: whoever held them is killed, another engine plays them to the end."""
    without = settings_of(database, redis_url, bots=False)
    async with serving(without) as table:
        async with process(database, redis_url, free_port()) as victim:
            started = [
                await table.start(
                    "dice-race", ("sharp", "casual", "sharp"), {"chips_to_win": 5}, turn_seconds=10
                )
                for _ in range(20)
            ]
            await asyncio.sleep(1.5)
            running = [match for match in started if (await table.view(match))["status"] == "running"]
            thinkers = psutil.Process(victim.pid).children(recursive=True)
            assert thinkers
            victim.send_signal(signal.SIGKILL)
            await victim.wait()
            _, alive = await asyncio.to_thread(psutil.wait_procs, thinkers, 10)
            assert not alive, "bots go on thinking after the death of their engine"
            assert len(running) > 10
            async with process(database, redis_url, free_port()):
                await table.ended(*started)
        for match in started:
            await table.check(match)
            events = await events_of(table.platform.log, match)
            assert "player-eliminated" not in {event.type for event in events}
