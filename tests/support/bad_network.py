"""A bad network between clients and a service: it cuts, delays, repeats, stalls and half-closes, at random moments.

Unlike ``tests.support.proxy``, which cuts at one chosen moment, this one reads HTTP/1.1 as far as requests go, and
decides the fate of each request, and of its answer, anew.
"""

import asyncio
import contextlib
import random
import re
from collections import Counter
from enum import StrEnum, auto
from typing import Final

from tests.support.relay import Relay, until_one_ends

_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
CHUNK_BYTES: Final = 1 << 16
DELAY_SECONDS_MAX: Final = 0.03
LATE_SECONDS_MAX: Final = 0.3
"""How long after its original a repeated request may arrive: the client has had its answer and moved on by then."""
ANSWER_BYTES_MAX: Final = 2_000
STREAM_BYTES_MAX: Final = 8_000
"""Where an answer breaks off: somewhere in its first bytes, of a stream somewhere in its first events."""
FAULTS_PERCENT: Final = 20
STREAM_FAULTS_PERCENT: Final = 80
"""How many requests meet a fault. A stream has only one fate in a long time, so it is mostly a bad one."""


class Fate(StrEnum):
    """What becomes of a request."""

    PASS = auto()
    DELAY = auto()
    CUT_BEFORE = auto()
    """It never arrives."""
    CUT_WITHIN = auto()
    """Half of it arrives."""
    CUT_AFTER = auto()
    """It arrives, and is worked off; the answer is lost."""
    CUT_ANSWER = auto()
    """The answer breaks off by a reset."""
    END_ANSWER = auto()
    """The answer breaks off by what looks like an orderly end."""
    STALL_ANSWER = auto()
    """The answer stops coming, and nothing tells the client that it did."""
    HALF_CLOSE = auto()
    """The service is told that the client has finished sending, while the answer is under way."""
    REPEAT = auto()
    """It arrives twice at the same time, over two connections."""
    REPEAT_LATE = auto()
    """It arrives once more when all is over."""


FAULTS: Final = tuple(fate for fate in Fate if fate is not Fate.PASS)


class BadNetwork(Relay):
    """Forwards every connection to one address, badly.

    Args:
        host: of the service.
        port: of the service.
        seed: of the faults' chance.

    Attributes:
        met: how many requests met which fate.
    """

    def __init__(self, host: str, port: int, seed: str) -> None:
        super().__init__(host, port)
        self._chance = random.Random(seed)
        self.met: Counter[Fate] = Counter()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a client's requests, and the answers to them."""
        await _Link(self, self._chance, reader, writer).run()

    def fate(self, *, of_stream: bool) -> Fate:
        """Draw the fate of the next request."""
        percent = STREAM_FAULTS_PERCENT if of_stream else FAULTS_PERCENT
        fate = self._chance.choice(FAULTS) if self._chance.randrange(100) < percent else Fate.PASS
        self.met[fate] += 1
        return fate

    def repeat(self, request: bytes, after_seconds: float) -> None:
        """Send a request once more, over a connection of its own, and hear nothing of the answer."""
        self.keep(self._repeat(request, after_seconds))

    async def _repeat(self, request: bytes, after_seconds: float) -> None:
        await asyncio.sleep(after_seconds)
        with contextlib.suppress(OSError):
            reader, writer = await self.connect()
            writer.write(request)
            await reader.read(CHUNK_BYTES)
            writer.close()


class _Link:
    """One client's connection and the one to the service behind it."""

    def __init__(
        self,
        network: BadNetwork,
        chance: random.Random,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._network = network
        self._chance = chance
        self._reader = reader
        self._writer = writer
        self._answer_fate = Fate.PASS
        self._answer_left = 0  # bytes of the answer that pass before its fate; negative: some are lost

    async def run(self) -> None:
        try:
            server_reader, server_writer = await self._network.connect()
        except OSError:
            self._writer.transport.abort()
            return
        try:
            await until_one_ends(self._pass_requests(server_writer), self._pass_answers(server_reader))
        finally:
            self._writer.transport.abort()
            # Closed in order: the service works off what it was sent, and then finds nobody there.
            server_writer.close()

    async def _pass_requests(self, to: asyncio.StreamWriter) -> None:
        """Let one request after the other meet its fate, until the client goes or the connection is cut."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await self._pass_request(await self._read_request(), to):
                pass

    async def _read_request(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        return head + (await self._reader.readexactly(int(found[1])) if found else b"")

    async def _pass_request(self, request: bytes, to: asyncio.StreamWriter) -> bool:
        """Let one request meet its fate; say whether the connection lives on."""
        of_stream = b"/stream" in request.partition(b"\r\n")[0]
        fate = self._network.fate(of_stream=of_stream)
        self._answer_fate, self._answer_left = Fate.PASS, 0
        match fate:
            case Fate.CUT_BEFORE:
                return False
            case Fate.CUT_WITHIN:
                to.write(request[: self._chance.randrange(1, len(request))])
                await to.drain()
                return False
            case Fate.CUT_ANSWER | Fate.END_ANSWER | Fate.STALL_ANSWER:
                bytes_max = STREAM_BYTES_MAX if of_stream else ANSWER_BYTES_MAX
                self._answer_fate, self._answer_left = fate, self._chance.randrange(bytes_max)
            case Fate.DELAY:
                await asyncio.sleep(self._chance.uniform(0, DELAY_SECONDS_MAX))
            case Fate.REPEAT:
                self._network.repeat(request, 0)
            case Fate.REPEAT_LATE:
                self._network.repeat(request, self._chance.uniform(0, LATE_SECONDS_MAX))
            case Fate.PASS | Fate.CUT_AFTER | Fate.HALF_CLOSE:
                pass
        to.write(request)
        await to.drain()
        if fate is Fate.HALF_CLOSE:
            to.write_eof()
        return fate is not Fate.CUT_AFTER

    async def _pass_answers(self, reader: asyncio.StreamReader) -> None:
        """Pass the service's answers on until it, or their fate, ends them."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if self._answer_fate is Fate.STALL_ANSWER and self._answer_left <= 0:
                    continue
                if self._answer_fate is not Fate.PASS:
                    data, self._answer_left = data[: self._answer_left], self._answer_left - len(data)
                self._writer.write(data)
                await self._writer.drain()
                if self._answer_left <= 0 and self._answer_fate in (Fate.CUT_ANSWER, Fate.END_ANSWER):
                    break
            if self._answer_fate is not Fate.CUT_ANSWER:
                # What has been sent arrives, and the client sees an orderly end.
                self._writer.close()
                await self._writer.wait_closed()
