"""The doorbell: quick when it works, and never needed."""

import asyncio
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from services.runtime.bus import Bell, Ear
from services.runtime.bus_link import CHANNEL
from tests.store.writers import settings_for
from tests.support.proxy import Proxy

SOON_SECONDS = 5.0
"""Long enough for a slow machine; no test waits it out when all is well."""


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(redis_url: str) -> AsyncIterator[Proxy]:
    parts = urlsplit(redis_url)
    async with Proxy(parts.hostname or "127.0.0.1", parts.port or 6379) as proxy:
        yield proxy


@pytest.fixture
def far_url(redis_url: str, proxy: Proxy) -> str:
    parts = urlsplit(redis_url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}"))


def bell_for(redis_url: str, log: str) -> Bell:
    return Bell(settings_for("postgresql://nowhere", redis_url=redis_url), log)


async def until(condition, seconds: float = SOON_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_a_ring_wakes_the_stream_it_names_and_whoever_reads_all():
    async with bell_for("", "a") as bell:
        with bell.listen("m_1") as one, bell.listen("m_2") as other, bell.listen() as everything:
            bell.ring(7, [("m_1", 3)])
            assert await one.wait(0)
            assert await everything.wait(0)
            assert not await other.wait(0)
            assert not await one.wait(0)


async def test_a_ring_while_nobody_waits_is_kept():
    async with bell_for("", "a") as bell:
        with bell.listen("m_1") as ear:
            bell.ring(1, [("m_1", 1)])
            bell.ring(2, [("m_1", 2)])
            assert await ear.wait(SOON_SECONDS)
            assert not await ear.wait(0.01)


async def test_listeners_are_forgotten_when_they_go():
    async with bell_for("", "a") as bell:
        for _ in range(3):
            with bell.listen("m_1"), bell.listen("m_1"), bell.listen():
                pass
        assert bell._ears == {}
        assert bell._all == set()


async def test_an_ear_without_a_bell_keeps_time():
    with Ear() as ear:
        assert not await ear.wait(0.01)


async def test_rings_reach_other_processes(redis_url: str):
    async with bell_for(redis_url, "b") as here, bell_for(redis_url, "b") as there:
        await until(lambda: here.connected and there.connected)
        with there.listen("m_1") as ear, there.listen("m_2") as other, there.listen() as everything:
            here.ring(5, [("m_1", 2)])
            assert await ear.wait(SOON_SECONDS)
            assert await everything.wait(SOON_SECONDS)
            assert not await other.wait(0)


async def test_a_process_does_not_hear_itself_twice(redis_url: str):
    async with bell_for(redis_url, "c") as here, bell_for(redis_url, "c") as there:
        await until(lambda: here.connected and there.connected)
        with here.listen("m_1") as ear, there.listen("m_1") as far:
            here.ring(1, [("m_1", 1)])
            assert await ear.wait(0)
            assert await far.wait(SOON_SECONDS)
            assert not await ear.wait(0.1)


async def test_logs_do_not_hear_each_other(redis_url: str):
    async with bell_for(redis_url, "d") as here, bell_for(redis_url, "e") as there:
        await until(lambda: here.connected and there.connected)
        with there.listen("m_1") as ear:
            here.ring(1, [("m_1", 1)])
            assert not await ear.wait(0.2)


async def test_a_ring_for_very_many_streams_wakes_everybody(redis_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("services.runtime.bus_link.HEADS_MAX", 3)
    async with bell_for(redis_url, "f") as here, bell_for(redis_url, "f") as there:
        await until(lambda: here.connected and there.connected)
        with there.listen("m_unnamed") as ear:
            here.ring(9, [(f"m_{number}", 1) for number in range(4)])
            assert await ear.wait(SOON_SECONDS)


async def test_rubbish_on_the_channel_wakes_and_does_not_break(redis_url: str):
    async with bell_for(redis_url, "g") as bell:
        await until(lambda: bell.connected)
        client = Redis.from_url(redis_url)
        with bell.listen("m_1") as ear:
            for rubbish in (b"", b"{}", b"\xff", b'["x",-1,{"m_1":1}]', b"[" * 10_000):
                await ear.wait(0)
                await client.publish(f"{CHANNEL}:g", rubbish)
                assert await ear.wait(SOON_SECONDS)
        assert bell.connected
        await client.aclose()


async def test_without_redis_everything_but_the_ring_works(far_url: str, proxy: Proxy):
    proxy.refuse(yes=True)
    async with bell_for(far_url, "h") as bell:
        with bell.listen("m_1") as ear:
            bell.ring(1, [("m_1", 1)])
            assert await ear.wait(0)
            assert not bell.connected


async def test_after_a_break_everybody_looks_again_at_once(far_url: str, redis_url: str, proxy: Proxy):
    async with bell_for(far_url, "i") as far, bell_for(redis_url, "i") as near:
        await until(lambda: far.connected and near.connected)
        for _ in range(3):
            with far.listen("m_1") as ear, far.listen() as everything:
                await ear.wait(0)
                await everything.wait(0)
                proxy.refuse(yes=True)
                proxy.cut_all()
                await until(lambda: not far.connected)
                near.ring(1, [("m_1", 1)])  # nobody hears this
                assert not await ear.wait(0.05)
                proxy.refuse(yes=False)
                assert await ear.wait(SOON_SECONDS)
                assert await everything.wait(SOON_SECONDS)
                assert far.connected
                await ear.wait(0)
                near.ring(2, [("m_1", 2)])
                assert await ear.wait(SOON_SECONDS)


async def test_a_connection_that_has_gone_silent_is_given_up(
    far_url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("services.runtime.bus_link.HEALTH_SECONDS", 0.1)
    async with bell_for(far_url, "l") as bell:
        await until(lambda: bell.connected)
        await asyncio.sleep(0.5)  # silent, but it answers
        assert proxy.connections == 1
        proxy.frozen = True
        await until(lambda: not bell.connected)
        proxy.frozen = False
        await until(lambda: bell.connected)


async def test_a_publisher_that_lost_its_connection_finds_another(far_url: str, redis_url: str, proxy: Proxy):
    async with bell_for(far_url, "j") as far, bell_for(redis_url, "j") as near:
        await until(lambda: far.connected and near.connected)
        with near.listen("m_1") as ear:
            for version in range(1, 6):
                proxy.cut_all()
                await until(lambda: not far.connected)
                await until(lambda: far.connected)
                await ear.wait(0)
                far.ring(version, [("m_1", version)])
                assert await ear.wait(SOON_SECONDS)


async def test_no_task_is_left_behind(redis_url: str):
    before = asyncio.all_tasks()
    async with bell_for(redis_url, "k") as bell:
        await until(lambda: bell.connected)
        bell.ring(1, [("m_1", 1)])
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
