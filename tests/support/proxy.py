"""A proxy between a client and a server that cuts a connection at a moment of our choice."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from tests.support.relay import Relay, until_one_ends


class Moment(Enum):
    """When to cut, counted from the client's message that holds the marker."""

    BEFORE_IT_IS_SENT = auto()
    AFTER_IT_IS_SENT = auto()
    WHEN_IT_IS_ANSWERED = auto()


class Proxy(Relay):
    """Forwards every connection to one address, until told otherwise.

    Attributes:
        connections: how many were made.
        cuts: how many it has cut.
        frozen: while it is set, nothing passes and nobody is told.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._plan: tuple[bytes, Moment] | None = None
        self._refusing = False
        self.frozen = False
        self.connections = 0
        self.cuts = 0

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

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry both directions, until it is time to cut."""
        if self._refusing:
            writer.transport.abort()
            return
        self.connections += 1
        await _Link(self, reader, writer).run()

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

    async def run(self) -> None:
        try:
            server_reader, server_writer = await self._proxy.connect()
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

        try:
            await until_one_ends(_pump(self._reader, to_server), _pump(server_reader, to_client))
        finally:
            for writer in (self._writer, server_writer):
                self._proxy.forget(writer)
                writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, forward: Callable[[bytes], Awaitable[bool]]) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 20):
            if not await forward(data):
                return
