"""Streams over a real server: whole first, nothing missed, and an end when it is time."""

import asyncio
import socket

import httpx
import pytest
import pytest_asyncio

from services.runtime.web import streams
from services.runtime.web.metrics import Metrics
from services.runtime.web.request import PROVIDED
from services.runtime.web.server import listen
from tests.http.demo import demo, write
from tests.http.serving import served, stream_of


@pytest_asyncio.fixture(loop_scope="session")
async def site(database):
    async with served(database, [demo]) as running:
        yield running


def stream(site, name, headers=None, query=""):
    return stream_of(site.url, f"/v1/follow/{name}{query}", headers)


async def test_a_stream_begins_with_the_whole_and_tells_what_comes_after(site):
    await write(site.platform.log, "t_1", 3)
    async with stream(site, "t_1") as reader:
        assert await reader.next() == ("snapshot", 3, {"whole": 3})
        await write(site.platform.log, "t_1", 2)
        assert (await reader.next())[:2] == ("event", 4)
        assert (await reader.next())[:2] == ("event", 5)


@pytest.mark.parametrize(
    ("headers", "query"),
    [({"Last-Event-ID": "2"}, ""), ({}, "?after=2"), ({"Last-Event-ID": "2"}, "?after=1")],
)
async def test_a_client_that_comes_back_continues_where_it_was(site, headers, query):
    await write(site.platform.log, "t_2", 4)
    async with stream(site, "t_2", headers, query) as reader:
        assert await reader.next() == ("snapshot", 2, {"whole": 2})
        assert (await reader.next())[1] == 3
        assert (await reader.next())[1] == 4


async def test_an_id_from_beyond_the_end_gets_the_whole(site):
    await write(site.platform.log, "t_3", 2)
    async with stream(site, "t_3", {"Last-Event-ID": "77"}) as reader:
        assert await reader.next() == ("snapshot", 2, {"whole": 2})
        await write(site.platform.log, "t_3", 1)
        assert (await reader.next())[1] == 3


async def test_many_streams_of_one_client_all_hear_everything_and_share_the_reading(site):
    await write(site.platform.log, "t_4", 1)

    async def follow():
        async with stream(site, "t_4") as reader:
            assert (await reader.next())[1] == 1
            ready.release()
            return [(await reader.next())[1] for _ in range(300)]

    ready = asyncio.Semaphore(0)
    readers = [asyncio.create_task(follow()) for _ in range(20)]
    for _ in readers:
        await ready.acquire()
    await write(site.platform.log, "t_4", 300)
    assert all(ids == list(range(2, 302)) for ids in await asyncio.gather(*readers))


async def test_a_keep_alive_carries_the_newest_version(site, monkeypatch):
    monkeypatch.setattr(streams, "KEEP_ALIVE_SECONDS", 0.1)
    await write(site.platform.log, "t_5", 2)
    async with stream(site, "t_5") as reader:
        await reader.next()
        assert await reader.next() == ("keep-alive", 2, {"version": 2})


async def test_a_ring_that_was_lost_costs_a_poll_and_no_event(site, monkeypatch):
    monkeypatch.setattr(type(site.platform.bell), "ring", lambda *_: None)
    await write(site.platform.log, "t_6", 1)
    async with stream(site, "t_6") as reader:
        await reader.next()
        await asyncio.sleep(0.05)
        await write(site.platform.log, "t_6", 3)
        assert [(await reader.next(2))[1] for _ in range(3)] == [2, 3, 4]


async def test_a_stream_ends_with_the_token_that_opened_it(site):
    await write(site.platform.log, "t_7", 1)
    token = site.platform.tokens.access_token("p_1", frozenset(), lifetime_seconds=2)
    async with stream(site, "t_7", {"Authorization": f"Bearer {token}"}) as reader:
        assert (await reader.next())[0] == "snapshot"
        assert await reader.next(4) is None


async def test_the_count_of_streams_goes_down_when_clients_go(site):
    await write(site.platform.log, "t_8", 1)
    gauge = site.app.state[PROVIDED][Metrics].streams
    async with stream(site, "t_8") as reader:
        await reader.next()
        assert gauge._value.get() == 1
    async with asyncio.timeout(5):
        while gauge._value.get():
            await asyncio.sleep(0.01)


async def test_the_server_stops_at_once_with_streams_open(database):
    async with served(database, [demo]) as site:
        await write(site.platform.log, "t_9", 1)
        async with stream(site, "t_9") as reader, stream(site, "t_9") as other:
            await reader.next()
            await other.next()
            site.server.should_exit = True
            async with asyncio.timeout(3):
                assert await reader.next() is None
                assert await other.next() is None
                await site.task


async def test_a_ring_from_another_process_arrives_over_redis(database, redis_url):
    async with served(database, [demo], redis_url) as one, served(database, [demo], redis_url) as other:
        async with asyncio.timeout(5):
            while not (one.platform.bell.connected and other.platform.bell.connected):
                await asyncio.sleep(0.01)
        await write(one.platform.log, "t_10", 1)
        async with stream(other, "t_10") as reader:
            await reader.next()
            await write(one.platform.log, "t_10", 1)
            assert (await reader.next())[1] == 2


def test_a_taken_port_is_told_in_one_line():
    from services.runtime.web.server import ListenError

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"port {port} on 127.0.0.1 is taken.*--port"):
            listen("127.0.0.1", port)


async def test_the_head_of_a_stream_is_answered_at_once_and_leaves_no_stream_open(site):
    await write(site.platform.log, "t_head", 2)
    async with httpx.AsyncClient(base_url=site.url, timeout=2) as client:
        for _ in range(3):  # over one connection, which no chunk of a stream gets into
            head = await client.head("/v1/follow/t_head")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["Content-Type"].startswith("text/event-stream")
            await write(site.platform.log, "t_head", 1)
        assert (await client.head("/v1/follow/t_nobody")).status_code == 404
        assert (await client.get("/v1/things")).status_code == 200
    assert site.app.state[PROVIDED][streams.StreamHub].open == 0


async def test_a_stream_with_a_request_behind_it_ends_when_the_client_goes(site, caplog):
    await write(site.platform.log, "t_behind", 1)
    metrics = site.app.state[PROVIDED][Metrics]
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    ask = b"GET /v1/%b HTTP/1.1\r\nHost: x\r\n\r\n"
    writer.write(ask % b"follow/t_behind" + ask % b"things" + ask % b"things")
    async with asyncio.timeout(5):
        assert b"event: snapshot" in await reader.readuntil(b"event: snapshot")
        open_before = metrics.streams._value.get()
        writer.transport.abort()
        while metrics.streams._value.get() >= open_before:
            await asyncio.sleep(0.02)
    await write(site.platform.log, "t_behind", 1)
    assert [
        record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")
    ] == []
