"""What is compared with: a bare Litestar app that publishes to whoever listens.

``python -m bench.stream.floor PORT``: ``/events`` answers with Litestar's ``ServerSentEvent``, which encodes each event
for each client; ``/bytes`` with a plain stream of bytes that are encoded once for all. ``POST /publish`` publishes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Final

import uvicorn
from litestar import Litestar, get, post
from litestar.params import Body
from litestar.response import ServerSentEvent, ServerSentEventMessage, Stream
from msgspec import Struct

QUEUE_MAX: Final = 256


class Publication(Struct, frozen=True):
    """What is published."""

    id: int
    data: str


class Everybody:
    """Hands what is published to all who listen."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Publication]] = set()

    def publish(self, publication: Publication) -> None:
        """Publish."""
        for queue in self._queues:
            queue.put_nowait(publication)

    async def listen(self) -> AsyncIterator[Publication]:
        """Listen, from now on."""
        queue: asyncio.Queue[Publication] = asyncio.Queue(QUEUE_MAX)
        self._queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)


everybody = Everybody()
_encoded: dict[int, bytes] = {}


@post("/publish", status_code=200)
async def publish(data: Annotated[Publication, Body()]) -> None:
    """Publish to all."""
    _encoded.clear()
    everybody.publish(data)


@get("/events")
async def events() -> ServerSentEvent:
    """Stream as Litestar's documentation shows it."""

    async def messages() -> AsyncIterator[ServerSentEventMessage]:
        yield ServerSentEventMessage(event="snapshot", id="0", data="{}")
        async for one in everybody.listen():
            yield ServerSentEventMessage(event="rolled", id=str(one.id), data=one.data)

    return ServerSentEvent(messages())


@get("/bytes")
async def encoded_once() -> Stream:
    """Stream what was encoded once."""

    async def frames() -> AsyncIterator[bytes]:
        yield b"event: snapshot\nid: 0\ndata: {}\n\n"
        async for one in everybody.listen():
            frame = _encoded.get(one.id)
            if frame is None:
                frame = _encoded[one.id] = f"event: rolled\nid: {one.id}\ndata: {one.data}\n\n".encode()
            yield frame

    return Stream(frames(), media_type="text/event-stream")


def main() -> None:
    """Serve until SIGTERM."""
    app = Litestar([publish, events, encoded_once], openapi_config=None, logging_config=None)
    uvicorn.run(
        app, host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop", http="httptools", log_config=None,
        access_log=False, server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip


if __name__ == "__main__":
    main()
