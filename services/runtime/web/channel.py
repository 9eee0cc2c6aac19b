"""One audience of one stream: it is read once for all who follow, and who keeps up is written to at once.

The channel waits for the doorbell, reads what came, and in one turn of the loop hands it to every follower. One that
has all before it, is not in the middle of sending, and whose connection takes bytes gets them by ``push``: no task is
woken for it, and nothing is encoded for it alone. Whoever cannot be handed to is woken, and pulls what it misses, at
its own speed; so nothing queues up for a slow reader here, either.

What this process has committed itself the channel is given right after the commit (``take``), if it joins on to what
was read; then there is nothing to read. The ring for the same commit comes a moment before, so it is looked at again
one turn of the loop later. What was taken is handed on once the answer to the commit is out (``hand_on``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from services.runtime.bus import Bell, Ear
from services.runtime.web.frames import Frame

LISTEN_SECONDS: Final = 60.0
"""How long a channel trusts in being rung; what it may have missed is found by the poll of the hub, long before."""

_logger: Final = logging.getLogger("macao.web")

Push = Callable[[bytes], bool]
"""Writes a part of a streamed answer if the connection takes it at once, and says whether it did."""

Form = Callable[[Frame], bytes]
"""Writes a frame as the connection wants it: one of the methods of ``Frame``."""

Read = Callable[[int], Awaitable[Sequence[Frame]]]
"""Returns the frames after a version, in order; nothing where there are none."""


class Follower:
    """One open stream.

    Attributes:
        version: how far it has been sent.
        form: how frames are written for it.
    """

    __slots__ = ("_channel", "_ear", "_idle", "_missed", "_push", "form", "version")

    def __init__(self, channel: Channel, version: int, push: Push | None, form: Form) -> None:
        self.version = version
        self.form = form
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
        frames_of: makes frames of what was just committed; none where they have to be read.

    Attributes:
        version: up to where it has read.
    """

    def __init__(
        self,
        bell: Bell,
        stream: str,
        version: int,
        read: Read,
        retry_seconds: float,
        frames_of: Callable[[object], Sequence[Frame]] = lambda _: (),
    ) -> None:
        self.version = version
        self.frames_of: Final = frames_of
        self.followers: Final[set[Follower]] = set()
        self._taken = 0
        self._ear = bell.listen(stream, self._told)
        self._stream = stream
        self._read = read
        self._retry_seconds = retry_seconds
        self._task: asyncio.Task[None] | None = asyncio.create_task(self._run(), name="stream-channel")

    def close(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
            # Its error has us in its traceback: a ring, which only the garbage collector would find.
            self._task = None

    def take(self, frames: Sequence[Frame]) -> bool:
        """Take what was just committed, to be handed on soon; say whether it joins on to what was read before."""
        if not frames or frames[0].version != self.version + 1:
            return False
        self.version = self._taken = frames[-1].version
        return True

    def hand_on(self, after: int, frames: Sequence[Frame]) -> None:
        """Hand frames to every follower, written once for all who want them in the same form."""
        version = frames[-1].version
        chunks: dict[Form, bytes] = {}
        for follower in tuple(self.followers):
            chunk = chunks.get(follower.form)
            if chunk is None:
                chunk = chunks[follower.form] = b"".join(map(follower.form, frames))
            follower.take(after, version, chunk)

    def look(self, version: int) -> None:
        """Say how far the stream goes, to a channel that may have missed it."""
        if self.version < version:
            self._ear.wake()

    def _told(self, version: int) -> None:
        """Hear of a ring: what it rings for may be about to be given."""
        if self._taken < version:
            asyncio.get_running_loop().call_soon(self._wake_for, version)

    def _wake_for(self, version: int) -> None:
        if self._taken < version:
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
        found = bool(fresh)
        if self.version != after:  # something was given meanwhile, and handed on
            after = self.version
            fresh = [one for one in fresh if one.version > after]
        if fresh:
            self.version = fresh[-1].version
            self.hand_on(after, fresh)
        return found
