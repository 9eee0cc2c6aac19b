"""Server-sent events: a stream of the log, followed by as many clients as like.

A stream remembers only the version it has sent, and reads what came after. So nothing queues up for a slow reader,
nothing is lost when a ring is, and a client that comes back with ``Last-Event-ID`` (or ``?after=``) continues where it
was. Those who have everything and keep up are spared the reading: a channel hands them what is new (``channel.py``).

The frames::

    event: snapshot     first, always: the whole view at the version that the client continues from, else the newest
    event: …            one for each event after it, named by the source
    event: keep-alive   at least every 15 seconds without another: {"version": the newest version}

The id of a frame is the version up to which this stream has been sent. A client whose last id stays below the
version in the keep-alives hangs, and should connect anew.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from functools import partial
from typing import Any, Final, Protocol, cast

from litestar import Response
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Send

from services.runtime.platform import Platform
from services.runtime.tasks import end
from services.runtime.web.channel import Channel, Follower, Form, Push
from services.runtime.web.frames import Frame, event_of
from services.runtime.web.heads import HEAD_ONLY
from services.runtime.web.limiting import address_of
from services.runtime.web.metrics import Metrics
from services.runtime.web.one_write import PUSH
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request

KEEP_ALIVE_SECONDS: Final = 15.0
STREAMS_MAX: Final = 10_000
"""Open streams per process; one more is told to come back."""
AUDIENCES_MAX: Final = 4_096
FRAMES_MAX: Final = 256
"""Frames remembered for each audience, so that a thousand spectators cost one read and one encoding."""
VERSION_MAX: Final = 2**53
_VERSION: Final = re.compile(r"[0-9]{1,16}")
RECONNECT_MS: Final = 1_000

_logger: Final = logging.getLogger("macao.web")

_NOBODY: Final[dict[str, Channel]] = {}
_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


def frame(event: str, version: int, data: bytes) -> Frame:
    """Make a frame; ``data`` is JSON in one line."""
    return Frame(version, event.encode(), data)


class Source(Protocol):
    """What a stream tells.

    Attributes:
        stream: the stream of the log that it follows.
        audience: who may see the same: sources with equal stream and audience have equal frames.
    """

    @property
    def stream(self) -> str: ...  # noqa: D102
    @property
    def audience(self) -> str: ...  # noqa: D102

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        """Return the version and the view (JSON) at version ``at``; at the newest for None and for what is beyond it.

        Raises:
            Problem: there is nothing to see here; it becomes the answer, as nothing has been sent yet.
        """
        ...

    async def frames(self, after: int) -> Sequence[Frame]:
        """Return what came after a version, in order and without a gap; some hundreds at most."""
        ...

    def frames_of(self, news: object, /) -> Sequence[Frame]:
        """Return the frames of a commit of this process (``handover.py``); none where they have to be read."""
        ...


class StreamHub:
    """What the streams of one process share: their number, the frames encoded lately, and one poll for them all."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.open = 0
        self._open_by: Counter[str] = Counter()
        self._recent: OrderedDict[tuple[str, str], _Recent] = OrderedDict()
        self._connections = platform.log.connections
        self._channels: dict[str, dict[str, Channel]] = {}
        """By stream of the log and audience, while anybody follows."""
        self._heads: dict[str, int] = {}
        self._taken: list[tuple[Channel, int, Sequence[Frame]]] = []
        platform.handover.to(self.take)

    def admit(self, caller: str, address: str) -> list[str]:
        """Return what a new stream is counted under.

        Raises:
            Problem: ``too-many-streams``, by the caps in the settings; ``unavailable``.
        """
        if self.open >= STREAMS_MAX or self._platform.stopping.is_set():
            raise Problem("unavailable", "No more streams can be opened here just now.")
        settings = self._platform.settings
        names = [f"address {address}"]
        for name, most in (
            (f"caller {caller}", settings.streams_per_caller if caller else 0),
            (names[0], settings.streams_per_address),
        ):
            if most and self._open_by[name] >= most:
                kind = name.partition(" ")[0]
                raise Problem(
                    "too-many-streams", f"This {kind} has {most} open here.", params={"by": kind, "max": most}
                )
        return [f"caller {caller}", *names] if caller else names

    @contextmanager
    def opened(self, names: Sequence[str]) -> Iterator[None]:
        """Count a stream while it is open."""
        self.open += 1
        self._open_by.update(names)
        try:
            yield
        finally:
            self.open -= 1
            for name in names:
                self._open_by[name] -= 1
                if not self._open_by[name]:
                    del self._open_by[name]

    async def frames(self, source: Source, after: int) -> Sequence[Frame]:
        """Return ``source.frames(after)``, read and encoded once for all who ask at the same time."""
        recent = self._recent_of(source.stream, source.audience)
        known = recent.after(after)
        if known:
            return known
        async with recent.lock:
            known = recent.after(after)
            if known:
                return known
            fresh = await source.frames(after)
            recent.extend(fresh)
            return fresh

    def take(self, stream: str, news: object) -> None:
        """Take what this process has just committed; who follows the stream is told one turn of the loop later."""
        for audience, channel in self._channels.get(stream, _NOBODY).items():
            try:
                after, frames = channel.version, channel.frames_of(news)
            except Exception:  # it is committed, and who did it has to go on; whoever follows will read
                _logger.exception("a commit to %s could not be handed over", stream)
                continue
            if channel.take(frames):
                self._recent_of(stream, audience).extend(frames)
                if not self._taken:
                    asyncio.get_running_loop().call_soon(self.hand_on)
                self._taken.append((channel, after, frames))

    def hand_on(self, followers_max: int | None = None) -> None:
        """Tell those who follow of what was taken, unless there are more of them than so many.

        For who has just answered: the event then leaves with the answer, in one write. A crowd would keep it waiting.
        """
        taken, self._taken = self._taken, []
        for channel, after, frames in taken:
            if followers_max is None or len(channel.followers) <= followers_max:
                channel.hand_on(after, frames)
            else:
                self._taken.append((channel, after, frames))

    def _recent_of(self, stream: str, audience: str) -> _Recent:
        if self._connections != self._platform.log.connections:
            self._connections = self._platform.log.connections
            self._recent.clear()  # another server may answer by now
        key = (stream, audience)
        recent = self._recent.get(key)
        if recent is None:
            recent = self._recent[key] = _Recent()
            while len(self._recent) > AUDIENCES_MAX:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return recent

    @contextmanager
    def following(
        self, source: Source, version: int, push: Push | None = None, form: Form = Frame.as_event
    ) -> Iterator[Follower]:
        """Follow what has been sent up to a version; with ``push`` most of the rest will be handed over."""
        stream, audience = source.stream, source.audience  # what a source says may change meanwhile
        audiences = self._channels.setdefault(stream, {})
        channel = audiences.get(audience)
        if channel is None:
            teller = copy(source)  # a source may remember what it has told
            channel = audiences[audience] = Channel(
                self._platform.bell,
                stream,
                version,
                partial(self.frames, teller),
                self._platform.settings.poll_seconds,
                teller.frames_of,
            )
        follower = Follower(channel, version, push, form)
        channel.followers.add(follower)
        try:
            yield follower
        finally:
            channel.followers.discard(follower)
            if not channel.followers:
                channel.close()
                del audiences[audience]
                self._recent.pop((stream, audience), None)  # who comes back finds it in the log
                if not audiences:
                    del self._channels[stream]
                    self._heads.pop(stream, None)

    def head(self, stream: str) -> int:
        """Return the newest version of a followed stream, as of the last poll."""
        return self._heads.get(stream, 0)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look at the log while open, as rings may be lost: one query for all followed streams at once."""
        watcher = asyncio.create_task(self._watch(), name="stream-watcher")
        try:
            yield
        finally:
            await end(watcher)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._platform.settings.poll_seconds)
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                _logger.warning("the streams could not look at the log: %r", error)

    async def _look(self) -> None:
        for stream, version in (await self._platform.log.heads_of(self._channels)).items():
            if stream in self._channels:
                self._heads[stream] = version
                for channel in self._channels[stream].values():
                    channel.look(version)


class _Recent:
    """The last frames of one audience, without a gap."""

    __slots__ = ("frames", "lock")

    def __init__(self) -> None:
        self.frames: deque[Frame] = deque(maxlen=FRAMES_MAX)
        self.lock = asyncio.Lock()

    def after(self, version: int) -> list[Frame]:
        """Return the frames after a version if the one that follows it is still here, else nothing."""
        if not self.frames or not self.frames[0].version <= version + 1 <= self.frames[-1].version:
            return []
        return [one for one in self.frames if one.version > version]

    def extend(self, fresh: Sequence[Frame]) -> None:
        """Remember frames; what does not join on to what is here takes its place, unless it is older."""
        if not fresh:
            return
        if self.frames and fresh[0].version != self.frames[-1].version + 1:
            if fresh[-1].version <= self.frames[-1].version:
                return
            self.frames.clear()
        self.frames.extend(fresh)


async def event_stream(request: Request, source: Source, after: int | None = None) -> EventStream:
    """Answer a request with a stream.

    Args:
        request: its ``Last-Event-ID`` goes before ``after``, as it is the newer of the two when a browser reconnects.
        source: what to tell.
        after: ``?after=`` of the request.

    Raises:
        Problem: what ``source.snapshot`` raises, ``malformed-request`` for an id that is no version,
            ``too-many-streams``, ``unavailable``.
    """
    hub = request.the(StreamHub)
    caller = await request.caller()
    counted = hub.admit(caller.player, address_of(request))
    last_id = request.headers.get("last-event-id", "").strip()
    if last_id:
        # Sixteen digits hold every version; Python refuses to read some thousands of them.
        if _VERSION.fullmatch(last_id) is None or int(last_id) > VERSION_MAX:
            raise Problem("malformed-request", "Last-Event-ID is not a version.")
        after = int(last_id)
    version, view = await source.snapshot(after)
    seconds = None
    if caller.expires_at_ms:
        # The view belongs to the token's holder; when the token ends, so does what it opened.
        seconds = max(0.0, (caller.expires_at_ms - request.platform.clock.now_ms()) / 1000)
    return EventStream(
        _Sender(
            hub, request.the(Metrics), request.platform, source, frame("snapshot", version, view), seconds,
            caller.session, counted,
        )
    )  # fmt: skip


class EventStream(Response[Any]):
    """The response; its body is sent by ``_Sender``."""

    def __init__(self, sender: _Sender) -> None:
        super().__init__(None, headers=_HEADERS)
        self._sender = sender

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        """Return what sends the stream; Litestar only calls it."""
        return cast("ASGIResponse", self._sender)


class _Sender:
    """Sends one stream until the client goes, the token ends or is revoked, or the process stops."""

    def __init__(
        self,
        hub: StreamHub,
        metrics: Metrics,
        platform: Platform,
        source: Source,
        snapshot: Frame,
        seconds: float | None,
        session: str,
        counted: Sequence[str],
    ) -> None:
        self._hub = hub
        self._metrics = metrics
        self._platform = platform
        self._source = source
        self._snapshot = snapshot
        self._seconds = seconds
        self._session = session
        self._counted = counted

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Be the ASGI app of the response."""
        headers = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        push: Push | None = scope["state"].get(PUSH)
        if HEAD_ONLY not in scope["state"]:
            with self._hub.opened(self._counted):
                await self._send_until_end(receive, send, push)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_until_end(self, receive: Receive, send: Send, push: Push | None) -> None:
        self._metrics.streams.inc()
        ends: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._send_all(send, push)),
            asyncio.ensure_future(_gone(receive)),
            asyncio.ensure_future(self._platform.stopping.wait()),
        ]
        if self._session:
            ends.append(asyncio.ensure_future(self._platform.tokens.revocations.until_revoked(self._session)))
        try:
            await asyncio.wait(ends, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._metrics.streams.dec()
            for end in ends:
                end.cancel()
            results = await asyncio.gather(*ends, return_exceptions=True)
        if isinstance(results[0], Exception):
            # The headers are out, so there is no answering with a problem: end, and the client comes back.
            _logger.warning("a stream of %s broke off", self._source.stream, exc_info=results[0])

    async def _send_all(self, send: Send, push: Push | None) -> None:
        await _send_bytes(send, b"retry: %d\n\n%b" % (RECONNECT_MS, self._snapshot.as_event()))
        stream = self._source.stream
        with self._hub.following(self._source, self._snapshot.version, push) as follower:
            while True:
                behind = follower.has_to_pull()
                fresh = await self._hub.frames(self._source, follower.version) if behind else []
                if fresh:
                    await _send_bytes(send, b"".join([one.as_event() for one in fresh]))
                    follower.version = fresh[-1].version
                elif not await follower.wait(KEEP_ALIVE_SECONDS):
                    # The id is what this stream has sent, the version how far things are.
                    head = max(self._hub.head(stream), follower.version)
                    data = b'{"version":%d}' % head
                    await _send_bytes(send, event_of(b"keep-alive", follower.version, data))


async def _send_bytes(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
