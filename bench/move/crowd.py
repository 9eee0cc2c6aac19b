"""Clients that send what they have been given, and the times that it took."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from time import perf_counter, process_time
from typing import Final

from msgspec import Struct

from bench.serving.http_client import Connection
from bench.serving.processor import processor_seconds
from bench.serving.servers import Process

SECONDS_MAX: Final = 300.0
"""A server that leaves something unanswered is not waited for beyond this."""


class Pace(Struct, frozen=True):
    """What a crowd has done.

    Attributes:
        answered: how many requests.
        seconds: in how long.
        latencies_seconds: of each, in no particular order.
        own_seconds: the processor's, of the process that answered.
        server_seconds: the processor's, of PostgreSQL.
        driver_seconds: the processor's, of the clients, which are this process.
    """

    answered: int
    seconds: float
    latencies_seconds: list[float]
    own_seconds: float
    server_seconds: float
    driver_seconds: float

    def percentile_ms(self, share: float) -> float:
        """Return the latency below which so large a share lies."""
        ordered = sorted(self.latencies_seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def a_second(self) -> float:
        """Requests a second."""
        return self.answered / self.seconds


class Scripts:
    """Requests that have to be sent one after another, as those of one match; whole scripts go to one client each."""

    def __init__(self, scripts: Iterable[Iterable[bytes]] = ()) -> None:
        self._left = deque(iter(script) for script in scripts)

    def add(self, scripts: Iterable[Iterable[bytes]]) -> None:
        """Add more."""
        self._left.extend(iter(script) for script in scripts)

    def endless(self) -> Generator[bytes, None, None]:
        """Return a client's requests, script after script; what it does not come to is left for others.

        Raises:
            ValueError: there is nothing left.
        """
        while True:
            if not self._left:
                raise ValueError("the scripts are at an end: rehearse more")
            script = self._left.popleft()
            try:
                yield from script
            except GeneratorExit:
                self._left.appendleft(script)
                raise


Mover = Callable[[], Awaitable[object]]
"""Sends the next of its moves, and waits for the answer."""


async def measure(
    process: Process, postgres_pid: int | None, clients: int, count: int, scripts: Scripts
) -> Pace:
    """Let clients send so many requests together."""
    connections = [await Connection.to("127.0.0.1", process.port) for _ in range(clients)]
    queues = [scripts.endless() for _ in connections]

    def mover(connection: Connection, queue: Iterator[bytes]) -> Mover:
        return lambda: connection.ask(next(queue))

    try:
        movers = [mover(connection, queue) for connection, queue in zip(connections, queues, strict=True)]
        return await paced(process, postgres_pid, movers, count)
    finally:
        for connection, queue in zip(connections, queues, strict=True):
            queue.close()
            connection.close()


async def paced(process: Process, postgres_pid: int | None, movers: Sequence[Mover], count: int) -> Pace:
    """Let all of them make moves, so many together, after one each that does not count.

    Raises:
        TimeoutError: that takes more than ``SECONDS_MAX``.
    """
    latencies: list[float] = []
    numbers = itertools.count()

    async def play(move: Mover) -> None:
        before = perf_counter()
        while next(numbers) < count:
            await move()
            now = perf_counter()
            latencies.append(now - before)
            before = now

    async with asyncio.timeout(SECONDS_MAX):
        for move in movers:  # what is slow the first time
            await move()
        own, server = processor_seconds(process.pid), processor_seconds(postgres_pid, children=True)
        begun, driver = perf_counter(), process_time()
        async with asyncio.TaskGroup() as group:
            for move in movers:
                group.create_task(play(move))
        return Pace(
            len(latencies),
            perf_counter() - begun,
            latencies,
            processor_seconds(process.pid) - own,
            processor_seconds(postgres_pid, children=True) - server,
            process_time() - driver,
        )
