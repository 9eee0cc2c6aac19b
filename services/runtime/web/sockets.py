"""WebSockets: the same frames as server-sent events, and commands on the same connection.

Every message from here is a JSON object ``{"event", "id", "data"}``, as a frame of ``streams.py`` is. What a client
sends is an object with a ``type``; the first has to be ``hello`` unless the request had an ``Authorization`` header, as
tokens do not belong into addresses. Commands are answered in the order in which they came, each before the next is
read: so nothing queues up on the way in, and what goes out is pulled from the log as for other streams. A client that
has fallen far behind is told to ``resync`` and gets the newest snapshot instead of what it missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, cast

import msgspec
from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect
from msgspec import Struct

from services.runtime.platform import Platform
from services.runtime.tokens.caller import ANONYMOUS, Caller
from services.runtime.web.authentication import identify
from services.runtime.web.bodies import refuse_doubled
from services.runtime.web.channel import Push
from services.runtime.web.frames import Frame, message_of, text_frame
from services.runtime.web.limiting import rate_limited
from services.runtime.web.metrics import Metrics
from services.runtime.web.one_write import PUSH, TOGETHER
from services.runtime.web.problems import Problem, document_of_problem, problem_of
from services.runtime.web.request import PLATFORM, PROVIDED
from services.runtime.web.streams import KEEP_ALIVE_SECONDS, Source, StreamHub

HELLO_SECONDS: Final = 10.0
"""How long a client without a header may take to say who it is."""
BEHIND_MAX: Final = 200
"""Frames that a client may be behind before it is told to start anew."""
AT_ONCE_MAX: Final = 16
"""So many who follow in one way are told of a move in one write with its answer; a crowd comes right after."""
MESSAGE_BYTES_MAX: Final = 64 * 1024

REFUSED: Final = 1008
RESTARTING: Final = 1012
"""Close codes: something was refused for good (a problem went before); the process stops, come back."""

T = TypeVar("T")
_logger: Final = logging.getLogger("macao.web")
_encode: Final = msgspec.json.Encoder().encode


class Hello(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="hello"):
    """The first message.

    Attributes:
        token: who is asking; without one a spectator.
        after: the version to go on after; without one the newest snapshot.
    """

    token: str | None = None
    after: int | None = None


class Answer(Struct, frozen=True):
    """What a command led to: the name of the frame, the version, and the data as JSON."""

    event: str
    id: int
    data: bytes


Together = Callable[[bytes, Callable[[], None]], bool]
"""``SocketProtocol.together``."""
Commands = Callable[[bytes, Caller], Awaitable[Answer]]
"""Carries out one message of a client; raises ``Problem``."""
Opening = Callable[[Caller], Awaitable[tuple[Source, Commands]]]
"""Finds what a caller may follow, and what takes its commands; raises ``Problem``."""


def the(socket: WebSocket[Any, Any, Any], kind: type[T]) -> T:
    """Return the one object of this type that a service provides."""
    return cast("T", socket.app.state[PROVIDED][kind])


class _Closing(Exception):  # noqa: N818 - it ends a connection, and is no error
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Conversation:
    """One connection, from the handshake to its end."""

    def __init__(self, socket: WebSocket[Any, Any, Any], opening: Opening, address: str) -> None:
        self._socket = socket
        self._opening = opening
        self._address = address
        self._platform: Platform = socket.app.state[PLATFORM]
        self._hub = the(socket, StreamHub)
        state = socket.scope["state"]
        self._push: Push | None = state.get(PUSH)
        self._together: Together | None = state.get(TOGETHER)
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Serve it until either side ends it."""
        await self._socket.accept()
        try:
            await self._serve()
        except WebSocketDisconnect:
            return
        except _Closing as closing:
            await self._close(closing.code)
        except Exception as error:  # noqa: BLE001 - as for requests: whatever is raised leaves as a problem
            problem = problem_of(error, self._id)
            await self._send_problem(problem, None)
            await self._close(REFUSED)

    async def _serve(self) -> None:
        caller, after = await self._who()
        counted = self._hub.admit(caller.player, self._address)
        source, commands = await self._opening(caller)
        metrics = the(self._socket, Metrics)
        with self._hub.opened(counted):
            metrics.streams.inc()
            try:
                await self._until_end(caller, source, commands, after)
            finally:
                metrics.streams.dec()

    async def _until_end(self, caller: Caller, source: Source, commands: Commands, after: int | None) -> None:
        revocations = self._platform.tokens.revocations
        work: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._tell(source, after)),
            asyncio.ensure_future(self._listen(caller, commands)),
            asyncio.ensure_future(self._platform.stopping.wait()),
        ]
        if caller.session:
            work.append(asyncio.ensure_future(revocations.until_revoked(caller.session)))
        seconds = None
        if caller.expires_at_ms:
            seconds = max(0.0, (caller.expires_at_ms - self._platform.clock.now_ms()) / 1000)
        try:
            await asyncio.wait(work, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told, heard, stopping = work[:3]
            stopped = stopping.done()
            for one in work:
                one.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        for one in (heard, told):
            if not one.cancelled() and one.exception() is not None:
                raise cast("BaseException", one.exception())
        if stopped:
            raise _Closing(RESTARTING)
        raise Problem("unauthenticated", "The token has ended.")

    async def _who(self) -> tuple[Caller, int | None]:
        """Return who is asking, and the version that they have."""
        authorization = self._socket.headers.get("authorization")
        hello = Hello()
        if authorization is None:
            try:
                async with asyncio.timeout(HELLO_SECONDS):
                    hello = decoded(Hello, await self._receive())
            except TimeoutError:
                raise Problem("malformed-request", "The first message has to be hello; none came.") from None
            authorization = None if hello.token is None else f"Bearer {hello.token}"
        caller = await identify(authorization, self._platform.tokens)
        return caller or ANONYMOUS, hello.after

    async def _tell(self, source: Source, after: int | None) -> None:
        """Send the stream."""
        version = await self._send_snapshot(source, after)
        stream = source.stream
        with self._hub.following(source, version, self._push, Frame.as_message) as follower:
            while True:
                behind = follower.has_to_pull()
                fresh = await self._hub.frames(source, follower.version) if behind else []
                if len(fresh) > BEHIND_MAX:
                    # It could not keep up. What it missed is old by now: it is told so, and starts anew.
                    data = b'{"version":%d}' % fresh[-1].version
                    await self._send(b"resync", follower.version, data)
                    follower.version = await self._send_snapshot(source, None)
                elif fresh:
                    for one in fresh:
                        await self._send_frame(one)
                    follower.version = fresh[-1].version
                elif not await follower.wait(KEEP_ALIVE_SECONDS):
                    head = max(self._hub.head(stream), follower.version)
                    await self._send(b"keep-alive", follower.version, b'{"version":%d}' % head)

    async def _send_snapshot(self, source: Source, after: int | None) -> int:
        version, view = await source.snapshot(after)
        await self._send(b"snapshot", version, view)
        return version

    async def _listen(self, caller: Caller, commands: Commands) -> None:
        """Carry out what the client sends, one after another."""
        while True:
            message = await self._receive()
            try:
                self._count(caller)
                answer = await commands(message, caller)
            except (WebSocketDisconnect, asyncio.CancelledError):
                raise
            except Exception as error:  # noqa: BLE001 - as for requests: whatever is raised leaves as a problem
                await self._send_problem(problem_of(error, self._id), key_in(message))
            else:
                await self._answer(message_of(answer.event.encode(), answer.id, answer.data))

    def _count(self, caller: Caller) -> None:
        meter = self._platform.caller_meter
        if meter.policy.quota and caller.player:
            verdict = meter.spend(caller.session or caller.player)
            if not verdict.allowed:
                raise rate_limited(meter.policy, verdict)

    async def _receive(self) -> bytes:
        text = await self._socket.receive_data(mode="text")
        message = text.encode("utf-8", "surrogatepass")
        if len(message) > MESSAGE_BYTES_MAX:
            raise Problem("body-too-large")
        return message

    async def _send_frame(self, one: Frame) -> None:
        await self._send(one.event, one.version, one.data)

    async def _send_problem(self, problem: Problem, key: str | None) -> None:
        document = document_of_problem(problem, instance=self._socket.url.path, request_id=self._id)
        body = {"key": key, "problem": msgspec.Raw(_encode(document))}
        try:
            await self._send(b"problem", 0, _encode(body))
        except (WebSocketDisconnect, RuntimeError):
            return

    async def _send(self, event: bytes, version: int, data: bytes) -> None:
        text = message_of(event, version, data)
        if not self._pushed(text_frame(text)):
            await self._send_slowly(text)

    async def _answer(self, text: bytes) -> None:
        """Send the answer to a command, and to those who follow, this client among them, what it has led to."""
        if (
            self._together is None
            or self._sending.locked()
            or not self._together(text_frame(text), self._tell_of_commits)
        ):
            await self._send_slowly(text)
            self._tell_of_commits()

    def _tell_of_commits(self) -> None:
        self._hub.hand_on(AT_ONCE_MAX)

    def _pushed(self, message: bytes) -> bool:
        """Write a message at once, if the connection takes it and nothing waits to be written before it."""
        return self._push is not None and not self._sending.locked() and self._push(message)

    async def _send_slowly(self, text: bytes) -> None:
        """Write a message when the client has taken what went before."""
        async with self._sending:
            await self._socket.send_data(text.decode(), mode="text")

    async def _close(self, code: int) -> None:
        try:
            await self._socket.close(code=code)
        except (WebSocketDisconnect, RuntimeError):
            _logger.debug("a client had gone before it was told why")

    @property
    def _id(self) -> str:
        return cast("str", self._socket.scope["state"]["request_id"])


def decoded(kind: type[T], message: bytes) -> T:
    """Return a message as the struct that it has to be.

    Raises:
        Problem: ``malformed-request``.
    """
    try:
        found = msgspec.json.decode(message, type=kind)
        refuse_doubled(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("malformed-request", f"This message cannot be read: {error}") from None
    return found


def key_in(message: bytes) -> str | None:
    """Return the idempotency key of a message that may be anything, so that its sender knows what was refused."""
    try:
        found = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    key = found.get("key") if isinstance(found, dict) else None
    return key if isinstance(key, str) else None
