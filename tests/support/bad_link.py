"""A bad link between the service and a server of its own: it cuts, delays, stalls, splits and half-closes at random.

It knows nothing of what goes over it. A TCP stream to PostgreSQL cannot be doubled by any network, so nothing is
repeated here; what comes twice over HTTP is the business of ``bad_network``.
"""

import asyncio
import contextlib
import random
from collections import Counter
from enum import StrEnum, auto
from typing import Final

from tests.support.relay import Relay, until_one_ends

CHUNK_BYTES: Final = 1 << 16
DELAY_SECONDS_MAX: Final = 0.03
STALL_SECONDS: Final = 0.5


class Trouble(StrEnum):
    """What becomes of a chunk of bytes."""

    DELAY = auto()
    SPLIT = auto()
    """It arrives in two pieces, the second one late."""
    CUT = auto()
    """It is lost, and with it the connection."""
    CUT_AFTER = auto()
    """It arrives, and then the connection is gone."""
    HALF_CLOSE = auto()
    """It arrives; the receiver is told that nothing more will come, and the other direction goes on for a while."""
    STALL = auto()
    """Nothing moves in this direction for a while, then the connection is cut."""


class BadLink(Relay):
    """Forwards every connection to one address.

    Attributes:
        percent: how many chunks in a hundred meet trouble; 0 heals the link for what comes from now on.
        latency_seconds: how long everything from the server takes longer, without any trouble.
        met: which troubles there were.
    """

    def __init__(self, host: str, port: int, seed: str, percent: float = 0.0) -> None:
        super().__init__(host, port)
        self._chance = random.Random(seed)
        self.percent = percent
        self.latency_seconds = 0.0
        self.met: Counter[Trouble] = Counter()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry both directions."""
        try:
            server_reader, server_writer = await self.connect()
        except OSError:
            writer.transport.abort()
            return
        try:
            await until_one_ends(
                self._pump(reader, server_writer, latency=False),
                self._pump(server_reader, writer, latency=True),
            )
        finally:
            for end in (writer, server_writer):
                end.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, latency: bool
    ) -> None:
        """Forward until one end closes, or the link cuts."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if latency and self.latency_seconds:
                    await asyncio.sleep(self.latency_seconds)
                if self._chance.random() * 100 >= self.percent:
                    writer.write(data)
                elif not await self._trouble(data, writer):
                    return
                await writer.drain()

    async def _trouble(self, data: bytes, writer: asyncio.StreamWriter) -> bool:
        """Do one thing to a chunk; say whether the connection goes on."""
        trouble = self._chance.choice(list(Trouble))
        self.met[trouble] += 1
        match trouble:
            case Trouble.DELAY:
                await asyncio.sleep(self._chance.random() * DELAY_SECONDS_MAX)
                writer.write(data)
                return True
            case Trouble.SPLIT:
                at = self._chance.randrange(len(data) + 1)
                writer.write(data[:at])
                await writer.drain()
                await asyncio.sleep(self._chance.random() * DELAY_SECONDS_MAX)
                writer.write(data[at:])
                return True
            case Trouble.CUT:
                return False
            case Trouble.CUT_AFTER:
                writer.write(data)
                await writer.drain()
                return False
            case Trouble.HALF_CLOSE:
                writer.write(data)
                writer.write_eof()
                await asyncio.sleep(self._chance.random() * STALL_SECONDS)
                return False
            case Trouble.STALL:
                await asyncio.sleep(STALL_SECONDS)
                return False
