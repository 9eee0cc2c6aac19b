"""Clients of server-sent events that note when which event came, and do nothing else."""

from __future__ import annotations

import asyncio
import re
from time import perf_counter
from typing import Final, cast

_GOOD: Final = b"HTTP/1.1 200"
_ID: Final = re.compile(rb"\nid: ?(\d+)")
AT_A_TIME: Final = 100
OPEN_SECONDS_MAX: Final = 600.0
AGAIN_SECONDS: Final = 1.0
"""How long it is waited when streams were refused, as ``Retry-After`` says."""


class Listener(asyncio.Protocol):
    """One client. It counts events whose id is in ``sent``, which says when they were published."""

    def __init__(self, sent: dict[int, float], delays_seconds: list[float]) -> None:
        self._sent = sent
        self._delays = delays_seconds
        self._greeted = False
        self.answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether the stream was opened, or refused, as by a busy service."""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Note what has come."""
        now = perf_counter()
        if not self.answered.done():
            if not data.startswith(_GOOD) and not self._greeted:
                self.answered.set_result(False)
                return
            self._greeted = True
            if _ID.search(data):
                self.answered.set_result(True)
        for found in _ID.finditer(data):
            at = self._sent.get(int(found[1]))
            if at is not None:
                self._delays.append(now - at)


async def listen(
    port: int, path: str, count: int, sent: dict[int, float], delays_seconds: list[float]
) -> list[Listener]:
    """Open so many streams, and return when each has had its first event; those that are refused are tried again.

    Raises:
        TimeoutError: it takes too long.
    """
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode()
    opened: list[Listener] = []
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(OPEN_SECONDS_MAX):
        while len(opened) < count:
            few = [
                (await loop.create_connection(lambda: Listener(sent, delays_seconds), "127.0.0.1", port))[1]
                for _ in range(min(AT_A_TIME, count - len(opened)))
            ]
            for listener in few:
                assert listener.transport is not None
                listener.transport.write(request)
            good = await asyncio.gather(*(listener.answered for listener in few))
            opened += (listener for listener, is_open in zip(few, good, strict=True) if is_open)
            if not all(good):
                hang_up([listener for listener, is_open in zip(few, good, strict=True) if not is_open])
                await asyncio.sleep(AGAIN_SECONDS)
    return opened


def hang_up(listeners: list[Listener]) -> None:
    """Close all."""
    for listener in listeners:
        if listener.transport is not None:
            listener.transport.abort()
