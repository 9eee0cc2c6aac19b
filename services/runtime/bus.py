"""The doorbell: says "look now" to whoever reads the log. Never what happened, and never for certain.

Inside a process a ring reaches its listeners at once. Between processes it goes over one Redis channel. A message may
be lost, late or doubled; so a listener that hears nothing still looks at the log now and then, and after every
(re)connection to Redis everybody is woken once. Without a Redis, listeners of other processes rely on looking.

How to listen without missing anything: begin to listen, then read the log, then wait, then read again.

    with bell.listen(stream) as ear:
        while True:
            ...  # read everything after what you have
            await ear.wait(poll_seconds)

``wait_stream`` and ``wait_position`` are the same for one wait: they know what was rung lately, so a ring that came
while the caller was reading is not missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from secrets import token_hex
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from services.contracts.ids import DEFAULT_LOG
from services.runtime.settings import Settings

_logger: Final = logging.getLogger(__name__)

CHANNEL: Final = "macao:bell"

HEADS_MAX: Final = 2_000
"""The most streams that one message names; beyond that it says "all of them"."""

BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

REMEMBERED_MAX: Final = 20_000
"""Of how many streams the last ring is remembered."""

HEALTH_SECONDS: Final = 5
"""How long a silent connection to Redis is trusted before it is tried with a ping."""


class Ring(Struct, frozen=True, array_like=True):
    """What goes over Redis: who rings, the log's last position, and the new versions by stream (None: look at all).

    The sender is there so that a process does not hear its own rings twice.
    """

    sender: str
    position: int
    heads: dict[str, int] | None


class Ear:
    """One listener. Rings that come while nobody waits are kept, as one, for the next wait.

    Without a bell it is never rung and only keeps time.
    """

    __slots__ = ("_bell", "_rung", "_stream", "_waiter")

    def __init__(self, bell: Bell | None = None, stream: str | None = None) -> None:
        self._bell = bell
        self._stream = stream
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

    def wake(self) -> None:
        """Ring for this listener alone."""
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
        self._channel = f"{CHANNEL}:{log}"
        self._sender = ""
        self._redis: Redis | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._ears: dict[str, set[Ear]] = {}
        self._all: set[Ear] = set()
        self._connected = False
        self._rung_versions: dict[str, int] = {}
        self._rung_position = 0
        # What is to be published, gathered while the message before it is on its way.
        self._position = 0
        self._heads: dict[str, int] | None = {}
        self._due = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Whether rings of other processes arrive at this moment. Nothing but speed depends on it."""
        return self._connected

    def listen(self, stream: str | None = None) -> Ear:
        """Return a listener for one stream, or for the whole log; it listens inside its ``with`` block."""
        return Ear(self, stream)

    def ring(self, position: int, heads: Sequence[tuple[str, int]]) -> None:
        """Say that the log now ends at ``position``, and which streams have which new versions. Never waits."""
        self._wake(position, heads)
        if self._redis is None or not self._connected:
            return  # who connects is woken anyway
        self._position = max(self._position, position)
        if self._heads is not None:
            self._heads.update(heads)
            if len(self._heads) > HEADS_MAX:
                self._heads = None
        self._due.set()

    async def wait_stream(self, stream: str, version: int, timeout_seconds: float) -> bool:
        """Wait until a version above ``version`` was rung for a stream, or everybody was woken; False: neither was."""
        if self._rung_versions.get(stream, 0) > version:
            return True
        with self.listen(stream) as ear:
            return await ear.wait(timeout_seconds)

    async def wait_position(self, position: int, timeout_seconds: float) -> bool:
        """Wait until a position above ``position`` was rung, or everybody was woken; False: neither was."""
        if self._rung_position > position:
            return True
        with self.listen() as ear:
            return await ear.wait(timeout_seconds)

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

    def wake_all(self) -> None:
        """Ring for everybody in this process."""
        for ears in self._ears.values():
            for ear in ears:
                ear.wake()
        for ear in self._all:
            ear.wake()

    async def __aenter__(self) -> Self:
        """Start to connect, in the background: Redis is no condition for anything."""
        self._sender = token_hex(8)
        if self._url:
            self._redis = Redis.from_url(
                self._url,
                health_check_interval=HEALTH_SECONDS,
                socket_connect_timeout=HEALTH_SECONDS,
                socket_timeout=HEALTH_SECONDS,
                retry=Retry(
                    NoBackoff(), 0
                ),  # we want to know of every break: what was rung meanwhile is lost
            )
            self._tasks = [
                asyncio.create_task(self._hear_for_ever(self._redis), name="bell-hear"),
                asyncio.create_task(self._publish_for_ever(self._redis), name="bell-publish"),
            ]
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        redis, self._redis = self._redis, None
        self._connected = False
        if redis is not None:
            await redis.aclose()

    def _wake(self, position: int, heads: Iterable[tuple[str, int]]) -> None:
        versions = self._rung_versions
        for stream, version in heads:
            before = versions.pop(stream, 0)
            versions[stream] = max(before, version)  # now the youngest of the dictionary
            for ear in self._ears.get(stream, ()):
                ear.wake()
        while len(versions) > REMEMBERED_MAX:
            del versions[next(iter(versions))]
        self._rung_position = max(self._rung_position, position)
        for ear in self._all:
            ear.wake()

    async def _hear_for_ever(self, redis: Redis) -> None:
        pause_seconds = BACKOFF_FIRST_SECONDS
        while True:
            pubsub = redis.pubsub()
            try:
                await pubsub.subscribe(self._channel)
                await self._hear(pubsub)
            except (RedisError, OSError) as error:
                if self._connected:
                    pause_seconds = BACKOFF_FIRST_SECONDS
                    _logger.warning(
                        "the doorbell's connection broke, readers poll until it is back: %r", error
                    )
            finally:
                self._connected = False
                await _close(pubsub)
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)

    async def _hear(self, pubsub: PubSub) -> None:
        """Pass messages on until the connection breaks."""
        while True:
            message: dict[str, Any] | None = await pubsub.get_message(timeout=1.0)
            if message is None:
                continue
            if message["type"] == "subscribe":
                self._connected = True
                self.wake_all()  # whatever was rung before this moment has not reached us
            elif message["type"] == "message":
                self._take(message["data"])

    def _take(self, data: bytes) -> None:
        try:
            ring = _decode(data)
        except msgspec.MsgspecError:
            self.wake_all()  # not one of ours; looking once too often does no harm
            return
        if ring.sender == self._sender:
            return
        if ring.heads is None:
            self.wake_all()
        else:
            self._wake(ring.position, ring.heads.items())

    async def _publish_for_ever(self, redis: Redis) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            ring = Ring(self._sender, self._position, self._heads)
            self._heads = {}
            await self._publish(redis, _encode(ring))

    async def _publish(self, redis: Redis, message: bytes) -> None:
        """Publish, and once more if the kept connection turns out to be dead; a second failure is a lost ring.

        That is all right, for who listens also looks.
        """
        for attempt in (1, 2):
            try:
                await redis.publish(self._channel, message)
            except (RedisError, OSError) as error:
                _logger.debug("a ring was not published, attempt %d: %r", attempt, error)
            else:
                return
        await asyncio.sleep(BACKOFF_FIRST_SECONDS)  # no use to spin on a Redis that is down


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Ring).decode


def _give_up(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def _close(pubsub: PubSub) -> None:
    try:
        await pubsub.aclose()  # type: ignore[no-untyped-call]
    except (RedisError, OSError):
        _logger.debug("a broken connection to Redis could not be closed in form")
