"""Apps behind a real server, and readers of their streams."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx

from services.runtime.web.request import PLATFORM
from services.runtime.web.server import listen, server_of
from tests.http.app import TurnableClock, app_of, settings_of


class Served:
    """An app behind a real server on a port of its own."""

    def __init__(self, app, server, port, task, clock):
        self.app, self.server, self.port, self.task, self.clock = app, server, port, task, clock
        self.platform = app.state[PLATFORM]
        self.url = f"http://127.0.0.1:{port}"


@asynccontextmanager
async def served(database, factories, redis_url="", **more):
    clock = TurnableClock()
    settings = settings_of(database, redis_url, **more)
    app = app_of(settings, factories, clock)
    listener = listen("127.0.0.1", 0)
    server = server_of(app, settings)
    task = asyncio.create_task(server._serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield Served(app, server, listener.getsockname()[1], task, clock)
    finally:
        server.should_exit = True
        await task


class Reader:
    """Reads frames from a stream: (event, id, data)."""

    def __init__(self, response):
        self._lines = response.aiter_lines()

    async def next(self, seconds=5.0):
        frame = {}
        async with asyncio.timeout(seconds):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if line:
                    frame[name] = value
                elif "event" in frame:
                    return frame["event"], int(frame["id"]), json.loads(frame["data"])
                else:
                    frame = {}
        return None


@asynccontextmanager
async def stream_of(url, path, headers=None):
    async with (
        httpx.AsyncClient(base_url=url, timeout=10) as client,
        client.stream("GET", path, headers=headers or {}) as response,
    ):
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield Reader(response)
