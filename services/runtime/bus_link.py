"""The doorbell's way between processes: one Redis channel a log, one connection to hear and one to publish.

In a cluster it is a channel of one shard (SPUBLISH, SSUBSCRIBE), so that a ring costs two nodes something and not all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any, Final

import msgspec
from msgspec import Struct
from redis.asyncio.client import PubSub

from services.runtime.redis_site import UNREACHABLE, RedisSite
from services.runtime.tasks import end

_logger: Final = logging.getLogger(__name__)

CHANNEL: Final = "macao:bell"

HEADS_MAX: Final = 2_000
"""The most streams that one message names; beyond that it says "all of them"."""

BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

GATHER_SECONDS: Final = 0.02
"""How long rings gather behind one that has just gone out; under load each would otherwise be a message of its own.
A message costs its sender as much as a third of a move: it goes through the client, and comes back to who sent it."""

HEALTH_SECONDS: Final = 5.0
"""How long a silent connection to Redis is trusted before it is tried with a ping, and how long the answer may take."""


class Ring(Struct, frozen=True, array_like=True):
    """One message.

    Attributes:
        sender: who rings; a process does not listen to itself.
        position: the log's last position.
        heads: the new versions by stream; None: of so many streams that everybody should look.
    """

    sender: str
    position: int
    heads: dict[str, int] | None


class Link:
    """Publishes this process's rings and hears those of the others, as long as Redis is there.

    Args:
        url: where Redis is.
        log: the name of the log that is rung for.
        heard: called with each ring of another process.
        lost: called when rings may have been missed: after every (re)connection, and for what cannot be read.

    Attributes:
        connected: whether rings of other processes arrive at this moment.

    Raises:
        SettingsError: the URL cannot be used.
    """

    def __init__(self, url: str, log: str, heard: Callable[[Ring], None], lost: Callable[[], None]) -> None:
        self._channel = f"{CHANNEL}:{log}"
        self._heard = heard
        self._lost = lost
        self._sender = token_hex(8)
        self._site = RedisSite(url, HEALTH_SECONDS)
        self._failing = False
        self._tasks: list[asyncio.Task[None]] = []
        self.connected = False
        # What is to be published, gathered while the message before it is on its way.
        self._position = 0
        self._heads: dict[str, int] | None = {}
        self._due = asyncio.Event()

    def open(self) -> None:
        """Start to connect, in the background: Redis is no condition for anything."""
        self._tasks = [
            asyncio.create_task(self._hear_for_ever(), name="bell-hear"),
            asyncio.create_task(self._publish_for_ever(), name="bell-publish"),
        ]

    async def close(self) -> None:
        """Disconnect; what was not published yet is not."""
        await end(*self._tasks)
        self.connected = False
        try:
            await self._site.close()
        except UNREACHABLE as error:
            _logger.debug("connections to Redis could not be closed in form: %r", error)

    def publish(self, position: int, heads: Sequence[tuple[str, int]]) -> None:
        """Have a ring published soon; never waits."""
        self._position = max(self._position, position)
        if self._heads is not None:
            self._heads.update(heads)
            if len(self._heads) > HEADS_MAX:
                self._heads = None
        self._due.set()

    async def _hear_for_ever(self) -> None:
        pause_seconds = BACKOFF_FIRST_SECONDS
        while True:
            pubsub: PubSub | None = None
            try:
                pubsub = await self._site.listen(self._channel)
                await self._hear(pubsub)
            except UNREACHABLE as error:
                if self.connected:
                    pause_seconds = BACKOFF_FIRST_SECONDS
                self._tell_of(error)
            finally:
                self.connected = False
                if pubsub is not None:
                    await self._hang_up(pubsub)
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)

    async def _hear(self, pubsub: PubSub) -> None:
        """Pass messages on until the connection breaks; one that is silent to a ping as well is as good as broken."""
        pinged = False
        while True:
            message: dict[str, Any] | None = await pubsub.get_message(timeout=HEALTH_SECONDS)
            if message is None:
                if pinged:
                    raise ConnectionResetError(f"nothing heard for {2 * HEALTH_SECONDS} s")
                await pubsub.ping()
                pinged = True
                continue
            pinged = False
            kind = message["type"]
            if kind in {"subscribe", "ssubscribe"}:
                self.connected = True
                self._failing = False
                self._lost()  # whatever was rung before this moment has not reached us
            elif kind in {"message", "smessage"}:
                self._take(message["data"])
            elif kind == "sunsubscribe":
                raise ConnectionResetError("the channel has moved to another shard of the cluster")

    def _tell_of(self, error: Exception) -> None:
        """Say once that there is no connection, and why; it may stay so for long."""
        if not self._failing:
            self._failing = True
            _logger.warning(
                "the doorbell has no connection, readers poll until it is back: %s: %s",
                type(error).__name__,
                error,
            )

    async def _hang_up(self, pubsub: PubSub) -> None:
        try:
            await self._site.hang_up(pubsub)
        except UNREACHABLE:
            _logger.debug("a broken connection to Redis could not be closed in form")

    def _take(self, data: bytes) -> None:
        try:
            ring = _decode(data)
        except msgspec.MsgspecError:
            self._lost()  # not one of ours; looking once too often does no harm
            return
        if ring.sender != self._sender:
            self._heard(ring)

    async def _publish_for_ever(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            ring = Ring(self._sender, self._position, self._heads)
            self._heads = {}
            await self._publish(_encode(ring))
            await asyncio.sleep(GATHER_SECONDS)

    async def _publish(self, message: bytes) -> None:
        """Publish, and once more if the kept connection turns out to be dead; a second failure is a lost ring.

        That is all right, for who listens also looks.
        """
        for attempt in (1, 2):
            try:
                await self._site.publish(self._channel, message)
            except UNREACHABLE as error:
                _logger.debug("a ring was not published, attempt %d: %r", attempt, error)
            else:
                return
        await asyncio.sleep(BACKOFF_FIRST_SECONDS)  # no use to spin on a Redis that is down


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Ring).decode
