"""What the proxies of the tests have in common: listening, and a task for every connection."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, Self


class Relay(ABC):
    """Takes connections that are meant for one address; what becomes of them is up to ``carry``.

    Attributes:
        port: where it listens, on loopback.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @abstractmethod
    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Look after one connection until it ends."""

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection to the address that the clients mean."""
        return await asyncio.open_connection(*self._target)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that ends with the relay at the latest."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.keep(self.carry(reader, writer))


async def until_one_ends(*ways: Coroutine[Any, Any, None]) -> None:
    """Run the two directions of a connection side by side; when one has ended, the other is ended, too."""
    pumps = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
