"""One audience of one stream: it is read once for all who follow, and who keeps up is written to at once.

The channel waits for the doorbell, reads what came, and in one turn of the loop hands it to every follower. One that
has all before it, is not in the middle of sending, and whose connection takes bytes gets them by ``push``: no task is
woken for it, and nothing is encoded for it alone. Whoever cannot be handed to is woken, and pulls what it misses, at
its own speed; so nothing queues up for a slow reader here, either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct

from services.runtime.bus import Bell, Ear

LISTEN_SECONDS: Final = 60.0
"""How long a channel trusts in being rung; what it may have missed is found by the poll of the hub, long before."""

_logger: Final = logging.getLogger("macao.web")


class Frame(Struct, frozen=True):
    """A frame as it is sent, and the version that it leads to."""

    version: int
    data: bytes


Push = Callable[[bytes], bool]
"""Writes a part of a streamed answer if the connection takes it at once, and says whether it did."""

Read = Callable[[int], Awaitable[Sequence[Frame]]]
"""Returns the frames after a version, in order; nothing where there are none."""


class Follower:
    """One open stream.

    Attributes:
        version: how far it has been sent.
    """

    __slots__ = ("_channel", "_ear", "_idle", "_missed", "_push", "version")

    def __init__(self, channel: Channel, version: int, push: Push | None) -> None:
        self.version = version
        self._channel = channel
        self._ear = Ear()
        self._idle = False
        self._missed = False
        self._push = push

    def has_to_pull(self) -> bool:
        """Say whether there is, or may be, more than was sent here, as far as was not said before."""
        missed, self._missed = self._missed, False
        return missed or self.version < self._channel.version

    async def wait(self, timeout_seconds: float) -> bool:
        """Wait until there may be something to pull, at most so long; say whether there was a sign of it."""
        self._idle = True
        try:
            return await self._ear.wait(timeout_seconds)
        finally:
            self._idle = False

    def take(self, after: int, version: int, chunk: bytes) -> None:
        """Be handed what leads from one version to another; who cannot take it now will pull it."""
        if self._idle and self.version == after and self._push is not None and self._push(chunk):
            self.version = version
        else:
            self.wake()

    def wake(self) -> None:
        """Have it look for itself."""
        self._missed = True
        self._ear.wake()


class Channel:
    """The followers of one audience.

    Args:
        bell: rings when the stream of the log has grown.
        stream: which.
        version: up to where its first follower has been sent.
        read: reads on.
        retry_seconds: how long a reading that failed waits for the next.

    Attributes:
        version: up to where it has read.
    """

    def __init__(self, bell: Bell, stream: str, version: int, read: Read, retry_seconds: float) -> None:
        self.version = version
        self.followers: Final[set[Follower]] = set()
        self._ear = bell.listen(stream)
        self._stream = stream
        self._read = read
        self._retry_seconds = retry_seconds
        self._task: asyncio.Task[None] | None = asyncio.create_task(self._run(), name="stream-channel")

    def close(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = (
                None  # its error has us in its traceback: a ring, which only the garbage collector would find
            )

    def look(self, version: int) -> None:
        """Say how far the stream goes, to a channel that may have missed it."""
        if self.version < version:
            self._ear.wake()

    async def _run(self) -> None:
        with self._ear:
            while True:
                try:
                    if not await self._read_on():
                        await self._ear.wait(LISTEN_SECONDS)
                except Exception as error:  # noqa: BLE001 - each follower finds out for itself, and ends
                    _logger.warning("the stream of %s could not be read: %r", self._stream, error)
                    for follower in tuple(self.followers):
                        follower.wake()
                    await asyncio.sleep(self._retry_seconds)

    async def _read_on(self) -> bool:
        """Read once and hand on what there is; say whether there was anything."""
        after = self.version
        fresh = await self._read(after)
        if fresh:
            self.version = fresh[-1].version
            chunk = b"".join([one.data for one in fresh])
            for follower in tuple(self.followers):
                follower.take(after, self.version, chunk)
        return bool(fresh)
