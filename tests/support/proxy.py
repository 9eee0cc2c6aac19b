"""A proxy between a client and a server that cuts a connection at a moment of our choice."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Self


class Moment(Enum):
    """When to cut, counted from the client's message that holds the marker."""

    BEFORE_IT_IS_SENT = auto()
    AFTER_IT_IS_SENT = auto()
    WHEN_IT_IS_ANSWERED = auto()


class Proxy:
    """Forwards every connection to one address, until told otherwise.

    Attributes:
        port: where it listens, on loopback.
        connections: how many were made.
        cuts: how many it has cut.
        frozen: while it is set, nothing passes and nobody is told.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._plan: tuple[bytes, Moment] | None = None
        self._refusing = False
        self.frozen = False
        self.port = 0
        self.connections = 0
        self.cuts = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_once(self, marker: bytes, moment: Moment) -> None:
        """Cut the next connection on which the client sends ``marker``."""
        self._plan = (marker, moment)

    def cut_all(self) -> None:
        """Cut every connection now."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def refuse(self, *, yes: bool) -> None:
        """Drop new connections at once, or accept them again."""
        self._refusing = yes

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        self.connections += 1
        link = _Link(self, reader, writer)
        task = asyncio.create_task(link.run(*self._target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def due(self, data: bytes) -> Moment | None:
        """Say whether to cut on this message; a plan holds once."""
        if self._plan is None or self._plan[0] not in data:
            return None
        moment = self._plan[1]
        self._plan = None
        self.cuts += 1
        return moment

    def watch(self, writer: asyncio.StreamWriter) -> None:
        """Know of a writer while it is open."""
        self._writers.add(writer)

    def forget(self, writer: asyncio.StreamWriter) -> None:
        """Know of it no longer."""
        self._writers.discard(writer)


class _Link:
    """One client's connection and the one to the server behind it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._mute = False

    async def run(self, host: str, port: int) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(host, port)
        except OSError:
            self._writer.transport.abort()
            return
        self._proxy.watch(self._writer)
        self._proxy.watch(server_writer)

        async def to_server(data: bytes) -> bool:
            if self._proxy.frozen:
                return True
            moment = self._proxy.due(data)
            if moment is Moment.BEFORE_IT_IS_SENT:
                return False
            # Deaf before the message is sent, or the answer might slip through.
            self._mute = moment is Moment.WHEN_IT_IS_ANSWERED
            server_writer.write(data)
            await server_writer.drain()
            if moment is Moment.AFTER_IT_IS_SENT:
                self._writer.transport.abort()
                # Closed in order: the server works off what it was sent, and then finds nobody there.
                server_writer.close()
            return True

        async def to_client(data: bytes) -> bool:
            if self._proxy.frozen:
                return True
            if self._mute:
                return False
            self._writer.write(data)
            await self._writer.drain()
            return True

        pumps = [
            asyncio.create_task(_pump(self._reader, to_server)),
            asyncio.create_task(_pump(server_reader, to_client)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for writer in (self._writer, server_writer):
                self._proxy.forget(writer)
                writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, forward: Callable[[bytes], Awaitable[bool]]) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 20):
            if not await forward(data):
                return
