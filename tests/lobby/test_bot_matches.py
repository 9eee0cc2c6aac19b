"""A player has so many running matches with bots at most; matches among people are not counted."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from services.lobby.app import service as lobby
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.lobby.conftest import Guest, Lobby
from tests.lobby.fake_engine import FakeEngine

MATCHES_MAX = 3


@pytest_asyncio.fixture(loop_scope="session")
async def capped(database: str) -> AsyncIterator[Lobby]:
    engine, clock = FakeEngine(), TurnableClock()
    app = app_of(settings_of(database, bot_matches_per_player=MATCHES_MAX), [engine.service, lobby], clock)
    async with client_of(app) as client:
        yield Lobby(client, engine, clock)


async def with_bot(house: Lobby, host: Guest) -> str:
    """Open a table and sit a bot down."""
    table: str = (await house.table(host))["id"]
    assert (await host.post(f"/tables/{table}/bots", {"level": "casual"})).status_code == 200
    return table


async def test_one_more_is_refused_until_one_is_over(capped: Lobby) -> None:
    ana, ben = await capped.guest("Ana"), await capped.guest("Ben")
    tables = [await with_bot(capped, ana) for _ in range(MATCHES_MAX + 1)]
    matches = []
    for number, table in enumerate(tables[:MATCHES_MAX]):
        started = await ana.post(f"/tables/{table}/start", key=f"start-{number}")
        assert started.status_code == 200, started.text
        matches.append(started.json()["match_id"])
    refused = await ana.post(f"/tables/{tables[-1]}/start")
    told = refused.json()
    assert (refused.status_code, told["code"]) == (409, "bot-matches-many")
    assert told["params"]["matches_max"] == MATCHES_MAX
    assert sorted(told["params"]["match_ids"]) == sorted(matches)
    assert told["advice"]
    # A retry of what was done is answered as it was, and another refusal comes first.
    again = await ana.post(f"/tables/{tables[0]}/start", key="start-0")
    assert (again.status_code, again.json()["match_id"]) == (200, matches[0])
    assert (await ana.post(f"/tables/{tables[0]}/start")).json()["code"] == "match-running"
    assert (await ben.post(f"/tables/{tables[-1]}/start")).json()["code"] == "not-host"
    # Quick match may lead to a bot; people among themselves are not counted.
    assert (await ana.post("/quick-match", {"game": "dice-race"})).json()["code"] == "bot-matches-many"
    people = (await capped.table(ana))["id"]
    assert (await ben.post(f"/tables/{people}/join", {})).status_code == 200
    assert (await ana.post(f"/tables/{people}/start")).status_code == 200
    # Another player has not begun any.
    assert (await ben.post(f"/tables/{await with_bot(capped, ben)}/start")).status_code == 200

    await capped.engine.end(matches[0])
    async with asyncio.timeout(15):
        while (await ana.post(f"/tables/{tables[-1]}/start")).status_code != 200:
            await asyncio.sleep(0.1)
    assert (await ana.post("/quick-match", {"game": "dice-race"})).json()["code"] == "bot-matches-many"


async def test_many_at_one_moment_are_counted_one_after_the_other(capped: Lobby) -> None:
    ana = await capped.guest("Ana")
    tables = [await with_bot(capped, ana) for _ in range(4 * MATCHES_MAX)]
    answers = await asyncio.gather(*(ana.post(f"/tables/{table}/start") for table in tables))
    codes = [answer.status_code for answer in answers]
    assert (codes.count(200), codes.count(409)) == (MATCHES_MAX, 3 * MATCHES_MAX)


async def test_with_zero_there_is_no_limit(database: str) -> None:
    engine, clock = FakeEngine(), TurnableClock()
    app = app_of(settings_of(database, bot_matches_per_player=0), [engine.service, lobby], clock)
    async with client_of(app) as client:
        house: Any = Lobby(client, engine, clock)
        ana = await house.guest("Ana")
        for _ in range(MATCHES_MAX + 1):
            assert (await ana.post(f"/tables/{await with_bot(house, ana)}/start")).status_code == 200
