"""What a request, a connection and a stream leave behind: nothing. The garbage collector runs rarely, see server.py."""

import asyncio
import gc

import httpx
import pytest

from services.runtime.web.channel import Channel
from services.runtime.web.metrics import Metrics
from services.runtime.web.protocol import Protocol
from services.runtime.web.request import PROVIDED
from services.runtime.web.streams import StreamHub
from tests.http.demo import demo, write
from tests.http.serving import served, stream_of

CLIENTS = 6
OURS = ("services.", "uvicorn.")


@pytest.fixture
def rings():
    """Return what since then only the garbage collector has found, by type."""
    gc.collect()
    gc.disable()

    def found():
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        names = [f"{type(one).__module__}.{type(one).__name__}" for one in gc.garbage]
        gc.garbage.clear()
        return [name for name in names if name.startswith(OURS)]

    yield found
    gc.enable()


def open_here(kind):
    return [one for one in gc.get_objects() if type(one) is kind]


async def until(reached):
    async with asyncio.timeout(10):
        while not reached():
            await asyncio.sleep(0.02)


async def test_requests_and_connections_leave_no_rings(database, rings):
    async with served(database, [demo]) as site:
        before = len(open_here(Protocol))
        for _ in range(CLIENTS):
            async with httpx.AsyncClient(base_url=site.url, trust_env=False) as client:
                for path in ("/health/live", "/v1/nowhere", "/v1/follow/nobody"):
                    await client.head(path)
                    await client.post(path, json={})
        await until(lambda: len(open_here(Protocol)) <= before)
        assert rings() == []


UNUSUAL = (
    b"GET /v1/things HTTP/1.0\r\n\r\n",
    b"GET /v1/things HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    b"no request\r\n",
    b"POST /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{",
)


async def test_unusual_clients_leave_no_rings(database, rings):
    async with served(database, [demo]) as site:
        before = len(open_here(Protocol))
        for _ in range(CLIENTS):
            for sent in UNUSUAL:
                reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
                writer.write(sent)
                await asyncio.sleep(0.01)
                writer.write(b'"seat": 1}')
                assert (await reader.read()).startswith(b"HTTP/1.1 ")
                writer.transport.abort()
        await until(lambda: len(open_here(Protocol)) <= before)
        assert rings() == []


async def test_streams_leave_no_rings_and_no_frames(database, rings):
    async with served(database, [demo]) as site:
        hub, metrics = site.app.state[PROVIDED][StreamHub], site.app.state[PROVIDED][Metrics]
        for number in range(CLIENTS):
            name = f"t_m{number}"
            await write(site.platform.log, name, 1)
            async with stream_of(site.url, f"/v1/follow/{name}", None) as reader:
                await reader.next()
                await write(site.platform.log, name, 3)
                assert (await reader.next())[1] == 2
                assert hub._recent
        await until(lambda: metrics.streams._value.get() == 0 and not open_here(Channel))
        assert not hub._recent
        assert rings() == []
