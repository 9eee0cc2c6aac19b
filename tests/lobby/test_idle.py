"""Tables that nobody touches for long are closed; those at which something happens stay."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from services.lobby.app import service as lobby
from services.lobby.tables import idle
from services.runtime.web.request import PLATFORM
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.lobby.conftest import Lobby
from tests.lobby.fake_engine import FakeEngine

HOURS = 2.0
HOUR_MS = 3_600_000


@pytest_asyncio.fixture(loop_scope="session")
async def watched(database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Lobby, Any]]:
    monkeypatch.setattr(idle, "LOOK_SECONDS", 0.1)
    engine, clock = FakeEngine(), TurnableClock()
    app = app_of(settings_of(database, idle_table_hours=HOURS), [engine.service, lobby], clock)
    async with client_of(app) as client:
        yield Lobby(client, engine, clock), app.state[PLATFORM]


async def state_of(house: Lobby, table: str) -> str:
    state: str = (await house.client.get(f"/v1/tables/{table}")).json()["state"]
    return state


async def test_an_untouched_table_is_closed_and_says_why(watched: tuple[Lobby, Any]) -> None:
    house, platform = watched
    ana, ben = await house.guest("Ana"), await house.guest("Ben")
    left_behind = (await house.table(ana))["id"]
    played = (await house.table(ana))["id"]
    assert (await ben.post(f"/tables/{played}/join", {})).status_code == 200
    assert (await ana.post(f"/tables/{played}/start")).status_code == 200
    house.clock.forward_ms += round(1.5 * HOUR_MS)
    late = await house.guest("Late")
    touched, young = (await house.table(late))["id"], (await house.table(late))["id"]
    house.clock.forward_ms += round(0.4 * HOUR_MS)
    await asyncio.sleep(0.4)
    assert {await state_of(house, one) for one in (left_behind, touched, young)} == {"open"}

    house.clock.forward_ms += round(0.2 * HOUR_MS)
    async with asyncio.timeout(10):
        while await state_of(house, left_behind) != "closed":
            await asyncio.sleep(0.05)
    house.clock.forward_ms += round(1.2 * HOUR_MS)
    later = await house.guest("Later")
    assert (await later.post(f"/tables/{touched}/join", {})).status_code == 200
    house.clock.forward_ms += round(0.4 * HOUR_MS)
    async with asyncio.timeout(10):
        while await state_of(house, young) != "closed":
            await asyncio.sleep(0.05)
    assert await state_of(house, touched) == "open"
    assert await state_of(house, played) == "playing"
    assert (await later.post(f"/tables/{left_behind}/join", {})).json()["code"] == "table-closed"
    listed = (await house.client.get("/v1/tables")).json()["items"]
    assert [one["id"] for one in listed] == [touched]
    (recorded,) = (await platform.log.read_stream(left_behind))[-1:]
    assert (recorded.event.type, recorded.event.actor) == ("table-closed", "lobby")
    assert b'"reason":"expired"' in recorded.event.body


async def test_of_two_that_look_one_closes_and_who_comes_between_keeps_the_table(
    watched: tuple[Lobby, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, platform = watched
    ana, ben = await house.guest("Ana"), await house.guest("Ben")
    board = idle.Board(platform.database)
    streams = idle.TableStreams(platform.log, platform.clock)
    watchers = [idle.Idle(board, streams, platform.clock, HOURS) for _ in range(2)]
    # A board that is behind: it names a table at which something has happened meanwhile.
    busy = (await house.table(ana))["id"]

    async def untouched(_before_ms: int, _limit: int) -> list[str]:
        return [busy, "t_01KB9YTEST0000000000000000"]

    with monkeypatch.context() as patch:
        patch.setattr(board, "untouched", untouched)
        assert await watchers[0].look() == 0
    assert await state_of(house, busy) == "open"

    # The join comes between what was read and what is written.
    load = streams.load

    async def slow(table: str) -> Any:
        loaded = await load(table)
        assert (await ben.post(f"/tables/{busy}/join", {})).is_success
        return loaded

    real = house.clock.now_ms
    with monkeypatch.context() as patch:
        patch.setattr(streams, "load", slow)
        patch.setattr(board, "untouched", untouched)
        assert not await watchers[0]._close(busy, real() + HOUR_MS)
    assert await state_of(house, busy) == "open"
    closed = await asyncio.gather(*(one._close(busy, real() + HOUR_MS) for one in watchers))
    assert sum(closed) == 1
    assert await state_of(house, busy) == "closed"


async def test_without_the_setting_nothing_is_closed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "LOOK_SECONDS", 0.05)
    engine, clock = FakeEngine(), TurnableClock()
    app = app_of(settings_of(database, idle_table_hours=0), [engine.service, lobby], clock)
    async with client_of(app) as client:
        house = Lobby(client, engine, clock)
        table = (await house.table(await house.guest()))["id"]
        clock.forward_ms += 1_000 * HOUR_MS
        await asyncio.sleep(0.5)
        assert await state_of(house, table) == "open"
