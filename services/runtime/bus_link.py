"""The doorbell's way between processes: one Redis channel a log, one connection to hear and one to publish."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any, Final

import msgspec
from msgspec import Struct
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

_logger: Final = logging.getLogger(__name__)

CHANNEL: Final = "macao:bell"

HEADS_MAX: Final = 2_000
"""The most streams that one message names; beyond that it says "all of them"."""

BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

GATHER_SECONDS: Final = 0.004
"""How long rings gather behind one that has just gone out; under load each would otherwise be a message of its own."""

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
    """

    def __init__(self, url: str, log: str, heard: Callable[[Ring], None], lost: Callable[[], None]) -> None:
        self._channel = f"{CHANNEL}:{log}"
        self._heard = heard
        self._lost = lost
        self._sender = token_hex(8)
        self._redis = Redis.from_url(
            url,
            socket_connect_timeout=HEALTH_SECONDS,
            socket_timeout=HEALTH_SECONDS,
            retry=Retry(NoBackoff(), 0),  # we want to know of every break: what was rung meanwhile is lost
        )
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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.connected = False
        await self._redis.aclose()

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
            pubsub = self._redis.pubsub()
            try:
                await pubsub.subscribe(self._channel)
                await self._hear(pubsub)
            except (RedisError, OSError) as error:
                if self.connected:
                    pause_seconds = BACKOFF_FIRST_SECONDS
                    _logger.warning(
                        "the doorbell's connection broke, readers poll until it is back: %r", error
                    )
            finally:
                self.connected = False
                await _hang_up(pubsub)
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
            if message["type"] == "subscribe":
                self.connected = True
                self._lost()  # whatever was rung before this moment has not reached us
            elif message["type"] == "message":
                self._take(message["data"])

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
                await self._redis.publish(self._channel, message)
            except (RedisError, OSError) as error:
                _logger.debug("a ring was not published, attempt %d: %r", attempt, error)
            else:
                return
        await asyncio.sleep(BACKOFF_FIRST_SECONDS)  # no use to spin on a Redis that is down


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Ring).decode


async def _hang_up(pubsub: PubSub) -> None:
    try:
        await pubsub.aclose()  # type: ignore[no-untyped-call]
    except (RedisError, OSError):
        _logger.debug("a broken connection to Redis could not be closed in form")
