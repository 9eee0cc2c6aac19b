"""What becomes of moves while the service's own servers are hard to reach, slow, full, or out of connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from services.engine.app import service
from services.runtime import pool
from services.runtime.clock import SystemClock
from services.runtime.platform import Platform
from services.runtime.web.app import create_app
from tests.engine.conftest import Engine, TestClock
from tests.faults.players import Match
from tests.http.app import opened, settings_of
from tests.support.bad_link import BadLink, Trouble

pytestmark = pytest.mark.slow

MATCHES: Final = 6
NORMAL_SECONDS_MAX: Final = 12.0
"""From the end of a fault to the first move that is accepted at the first attempt; a busy machine included."""
OPTIONS: Final = {"first": 0, "chips_to_win": 20}


def through(url: str, link: BadLink) -> str:
    """Return a URL that leads over a link."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(
        parts._replace(netloc=f"{login}@127.0.0.1:{link.port}" if login else f"127.0.0.1:{link.port}")
    )


def link_to(url: str, seed: str) -> BadLink:
    """Return a link to the server of a URL."""
    parts = urlsplit(url)
    return BadLink(parts.hostname or "127.0.0.1", parts.port or 0, seed)


@asynccontextmanager
async def engine_of(
    database_url: str, redis_url: str, clock: TestClock | None = None, **more: object
) -> AsyncIterator[Engine]:
    """Run an engine, with the machine's own clock unless another is given."""
    settings = settings_of(database_url, redis_url, **more)
    at: TestClock = clock or TestClock(SystemClock().now_ms())
    used = Platform(settings, clock=at if clock else SystemClock())
    app = create_app(settings, [service], platform=used)
    async with opened(app):
        engine = Engine(app, at)
        async with engine.http:
            yield engine


async def seconds_until_normal(engine: Engine, match: str) -> float:
    """Return after how long a move is accepted at the first attempt."""
    begun = time.monotonic()
    while time.monotonic() - begun < NORMAL_SECONDS_MAX:
        one = Match(engine, match)
        await one.play(5, moves_max=1)
        if one.acknowledged and set(one.answers) == {200}:
            break
    return time.monotonic() - begun


@pytest.mark.parametrize("seed", ["one", "two"])
async def test_nothing_acknowledged_is_lost_over_bad_links(database: str, redis_url: str, seed: str) -> None:
    async with (
        link_to(database, seed) as to_database,
        link_to(redis_url, seed) as to_redis,
        engine_of(through(database, to_database), through(redis_url, to_redis)) as engine,
    ):
        matches = [Match(engine, await engine.start(options=OPTIONS)) for _ in range(MATCHES)]
        to_database.percent, to_redis.percent = 6, 10
        await asyncio.gather(*(match.play(6) for match in matches))
        to_database.percent = to_redis.percent = 0
        normal_seconds = await seconds_until_normal(engine, matches[0].match)
        for match in matches:
            await match.holds()
    acknowledged = sum(len(match.acknowledged) for match in matches)
    print(  # noqa: T201 - for docs/faults.md: pytest -s shows it
        f"{sum(to_database.met.values())} troubles to PostgreSQL, {sum(to_redis.met.values())} to Redis,"
        f" {acknowledged} moves acknowledged, none lost, normal after {normal_seconds:.1f} s"
    )
    assert set(to_database.met) == set(Trouble), to_database.met
    assert acknowledged > MATCHES * 5
    assert normal_seconds < NORMAL_SECONDS_MAX


async def test_slow_commits_make_moves_slow_and_nothing_else(database: str) -> None:
    async with link_to(database, "slow") as link, engine_of(through(database, link), "") as engine:
        matches = [Match(engine, await engine.start(options=OPTIONS)) for _ in range(MATCHES)]
        link.latency_seconds = 0.005
        await asyncio.gather(*(match.play(3) for match in matches))
        for match in matches:
            await match.holds()
    assert all(set(match.answers) == {200} for match in matches), [match.answers for match in matches]
    assert all(len(match.acknowledged) > 5 for match in matches)


async def test_a_pool_that_runs_dry_is_said_and_moves_go_on(database: str, monkeypatch) -> None:
    monkeypatch.setattr(pool, "ACQUIRE_SECONDS", 0.5)
    async with engine_of(database, "", database_pool_max=4) as engine:
        match = Match(engine, await engine.start(options=OPTIONS))
        await match.play(5, moves_max=2)
        view = await engine.view(match.match)
        other = await engine.start(options=OPTIONS)
        held = [await engine.platform.database.pool.acquire() for _ in range(2)]
        # What needs a connection of the pool says so in good time.
        begun = time.monotonic()
        refused = await engine.as_(None, "GET", f"/v1/matches/{other}")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert time.monotonic() - begun < 5
        # Moves in a match that is in memory need none: appends have connections of their own.
        headers = {"If-Match": f'"{view["version"]}"'}
        moved = await engine.move(match.match, f"p_{view['turn']}", {"type": "roll"}, **headers)
        assert moved.status_code == 200, moved.text
        for connection in held:
            await engine.platform.database.pool.release(connection)
        assert (await engine.as_(None, "GET", f"/v1/matches/{other}")).status_code == 200
        await match.holds()


async def test_a_full_disk_is_unavailable_and_over_when_there_is_room(database: str) -> None:
    owner = await asyncpg.connect(database)
    # As PostgreSQL says it when it cannot extend a file.
    await owner.execute("""
        CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
    """)
    async with engine_of(database, "") as engine:
        match = Match(engine, await engine.start(options=OPTIONS))
        await match.play(5, moves_max=2)
        await owner.execute(
            "CREATE TRIGGER no_room BEFORE INSERT ON macao_log.events EXECUTE FUNCTION public.no_room()"
        )
        full = asyncio.create_task(match.play(60, moves_max=4))
        await asyncio.sleep(12)  # longer than the patience of an append
        assert len(match.acknowledged) == 2
        assert match.answers[503] >= 1
        assert (await engine.as_(None, "GET", f"/v1/matches/{match.match}")).status_code == 200
        await owner.execute("DROP TRIGGER no_room ON macao_log.events")
        await full
        assert len(match.acknowledged) == 4
        assert await seconds_until_normal(engine, match.match) < NORMAL_SECONDS_MAX
        await match.holds()
    await owner.close()


async def test_a_clock_that_jumps_moves_no_event_back_and_costs_nobody_a_match(database: str) -> None:
    clock = TestClock(SystemClock().now_ms())
    async with engine_of(database, "", clock) as engine:
        match = await engine.start(options=OPTIONS, turn_seconds=10)
        times = []
        for jump_seconds in (0, -3600, 0, 7200, 0, -86_400, 0):
            clock.turn(jump_seconds)
            await asyncio.sleep(0.6)  # longer than the ticker's pause
            view = await engine.view(match)
            assert view["status"] == "running", jump_seconds
            moved = await engine.move(match, f"p_{view['turn']}", {"type": "roll"})
            assert moved.status_code == 200, moved.text
            times += [event["at_ms"] for event in moved.json()["events"]]
    assert times == sorted(times)
