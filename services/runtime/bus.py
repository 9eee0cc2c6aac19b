"""The doorbell: says "look now" to whoever reads the log. Never what happened, and never for certain.

Inside a process a ring reaches its listeners at once. Between processes it goes over Redis. A message may be lost,
late or doubled; so a listener that hears nothing still looks at the log now and then, and after every (re)connection
to Redis everybody is woken once. Without a Redis, listeners of other processes rely on looking.

How to listen without missing anything: begin to listen, then read the log, then wait, then read again.

    with bell.listen(stream) as ear:
        while True:
            ...  # read everything after what you have
            await ear.wait(poll_seconds)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from services.contracts.ids import DEFAULT_LOG
from services.runtime.bus_link import Link, Ring
from services.runtime.settings import Settings


class Ear:
    """One listener. Rings that come while nobody waits are kept, as one, for the next wait.

    Without a bell it is never rung and only keeps time. With ``told`` it hears of a ring for its stream by the version
    that the stream has now, and decides for itself whether that is a reason to wake.
    """

    __slots__ = ("_bell", "_rung", "_stream", "_told", "_waiter")

    def __init__(
        self,
        bell: Bell | None = None,
        stream: str | None = None,
        told: Callable[[int], None] | None = None,
    ) -> None:
        self._bell = bell
        self._stream = stream
        self._told = told
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        if self._bell is not None:
            self._bell.add(self._stream, self)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._bell is not None:
            self._bell.remove(self._stream, self)
        # It may be a method of whoever has us: a ring, which only the garbage collector would find.
        self._told = None

    def ring(self, version: int) -> None:
        """Ring for this listener alone, because its stream has this version now."""
        if self._told is None:
            self.wake()
        else:
            self._told(version)

    def wake(self) -> None:
        """Wake this listener, whatever its stream's version."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout_seconds: float) -> bool:
        """Wait for a ring since the last wait, at most so long; say whether there was one. One caller at a time."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(timeout_seconds, _give_up, waiter)
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiter = None
        rung, self._rung = self._rung, False
        return rung


class Bell:
    """The doorbell of one process.

    Args:
        settings: says where Redis is; an empty ``redis_url`` means that there is none.
        log: the name of the log that it rings for.
    """

    def __init__(self, settings: Settings, log: str = DEFAULT_LOG) -> None:
        self._url = settings.redis_url
        self._log = log
        self._link: Link | None = None
        self._ears: dict[str, set[Ear]] = {}
        self._all: set[Ear] = set()

    async def __aenter__(self) -> Self:
        if self._url:
            self._link = Link(self._url, self._log, self._hear, self.wake_all)
            self._link.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    @property
    def connected(self) -> bool:
        """Whether rings of other processes arrive at this moment. Nothing but speed depends on it."""
        return self._link is not None and self._link.connected

    def listen(self, stream: str | None = None, told: Callable[[int], None] | None = None) -> Ear:
        """Return a listener for one stream, or for the whole log; it listens inside its ``with`` block."""
        return Ear(self, stream, told)

    def ring(self, position: int, heads: Sequence[tuple[str, int]]) -> None:
        """Say that the log now ends at ``position``, and which streams have which new versions. Never waits."""
        self._wake(heads)
        if self._link is not None:
            self._link.publish(position, heads)

    def wake_all(self) -> None:
        """Ring for everybody in this process."""
        for ears in self._ears.values():
            for ear in ears:
                ear.wake()
        for ear in self._all:
            ear.wake()

    def add(self, stream: str | None, ear: Ear) -> None:
        """Begin to wake a listener; for ``Ear``."""
        (self._all if stream is None else self._ears.setdefault(stream, set())).add(ear)

    def remove(self, stream: str | None, ear: Ear) -> None:
        """Wake a listener no more; for ``Ear``."""
        if stream is None:
            self._all.discard(ear)
            return
        ears = self._ears.get(stream)
        if ears is not None:
            ears.discard(ear)
            if not ears:
                del self._ears[stream]

    def _hear(self, ring: Ring) -> None:
        if ring.heads is None:
            self.wake_all()
        else:
            self._wake(ring.heads.items())

    def _wake(self, heads: Iterable[tuple[str, int]]) -> None:
        for stream, version in heads:
            for ear in self._ears.get(stream, ()):
                ear.ring(version)
        for ear in self._all:
            ear.wake()


def _give_up(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
