"""What uvicorn's protocol leaves open: bytes that are no request, heads without an end, clients that know no chunks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from services.runtime.web.one_write import PUSH, OneWriteProtocol

HEAD_SIZE_MAX: Final = 64 * 1024
"""The most bytes of a head, give or take what arrives with one reading of the socket."""
MESSAGE_SIZE_MAX: Final = 1024 * 1024
"""The most bytes of a whole request, framing and trailers included; whoever goes on behind that is not heard."""
HEAD_SECONDS: Final = 30.0
"""How long a head may take, and how long a new connection may be silent."""
LINGER_SECONDS: Final = 1.0
"""How long who is refused in the middle of sending is still listened to, in vain."""

UNFIT: Final = "unfit"
"""Where the state of a request has code and detail of the problem with it, if it could not be read as one."""

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_WEBSOCKET: Final = b"websocket"
_STAND_IN: Final = b"GET / HTTP/1.0\r\n\r\n"
_CHUNKING: Final = "1.1"
"""The version of HTTP that knows chunks."""


class Protocol(OneWriteProtocol):
    """One connection.

    What cannot be read comes to the app like any request, marked as ``UNFIT``: it is answered by a problem with a
    request id, and has its line in the log. Then the connection ends, as nobody knows where a next request would begin.

    Every request passes through here: nothing is done for the usual ones that can be done for the others alone.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Be a connection of a server; see uvicorn."""
        super().__init__(*args, **kwargs)
        self._counted: Any = None
        self._bytes = 0
        self._deaf = False
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._head_came()
        self._counted = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, within bounds."""
        if self._deaf:
            return
        super().data_received(data)
        cycle = self.last
        if cycle is None or cycle.more_body or cycle.scope is not self.scope or len(data) > HEAD_SIZE_MAX:
            self._look_at(len(data))

    def on_headers_complete(self) -> None:
        """Take the end of a head."""
        super().on_headers_complete()
        if self._patience is not None:
            self._head_came()
        cycle = self.last
        if cycle is not None and cycle.scope is self.scope:  # else it is about to become a WebSocket
            self.headers = []  # what comes behind the body is no header of the request, but uvicorn would add it
            if cycle.scope["http_version"] != _CHUNKING:
                _end_by_closing(cycle)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request; uvicorn's parser has given up."""
        error = sys.exception()
        if isinstance(error, httptools.HttpParserInvalidMethodError):
            self._refuse("malformed-request", "A request of HTTP/1.1 begins with a method; this is none.")
        else:
            self._refuse("malformed-request", f"This is not HTTP/1.1: {str(error or msg)[:200]}")

    def _should_upgrade(self) -> bool:
        """Say whether a WebSocket is opened: by GET alone; uvicorn would wait for ever behind the body of another."""
        return self.scope["method"] == "GET" and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer in HTTP/1.1 who asks for another protocol than WebSocket, and hear no more, as the parser does not."""
        self._deaf = True
        self.cycle.keep_alive = False
        if self.cycle.scope["method"] in _WITH_BODY:  # it was not read
            self._unfit(
                "malformed-request", "The Upgrade that is asked for is not spoken here: ask without it."
            )

    def _look_at(self, count: int) -> None:
        """Look at a request that is not whole yet, or came with very many bytes."""
        cycle = self.last
        in_head = cycle is None or cycle.scope is not self.scope
        if cycle is not None and not in_head and _size(cycle.scope["headers"]) > HEAD_SIZE_MAX:
            self._unfit("head-too-large", "")
            return
        if self._counted is not self.scope:
            # What a request begins with may belong to others before it: of that nothing is counted.
            self._counted, self._bytes = self.scope, 0
        else:
            self._bytes += count
        if in_head and self._bytes > HEAD_SIZE_MAX:
            self._refuse("head-too-large")
        elif self._bytes > MESSAGE_SIZE_MAX:
            self._refuse("body-too-large")
        elif in_head and self._patience is None:
            self._wait_for_head()

    def _refuse(self, code: str, detail: str = "") -> None:
        """Hear no more. What was asked before that, and was whole, is still answered."""
        self._deaf = True
        self._head_came()
        cycle = self.last
        if cycle is None or (cycle.response_complete and not cycle.more_body):
            self.transport = cast("Any", _Lingering(self.transport, self.loop))
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(_STAND_IN)
            self.scope["method"] = self.scope["path"] = ""
            self._unfit(code, detail)
        elif cycle.response_complete:
            _Lingering(self.transport, self.loop).close()  # who asked has the answer, and goes on sending
        else:
            cycle.keep_alive = False
            if cycle.more_body:
                self._unfit(code, detail)
                cycle.message_event.set()

    def _unfit(self, code: str, detail: str) -> None:
        """Have the last request refused that has come, and hear no more."""
        self._deaf = True
        self.cycle.keep_alive = False
        self.cycle.transport = cast("Any", _Lingering(self.transport, self.loop))
        cast("Any", self.cycle.scope)["state"][UNFIT] = code, detail

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS, self._lose_patience)

    def _head_came(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._deaf = True
        cycle = self.last
        if cycle is None or cycle.response_complete:
            self.transport.close()
        else:
            cycle.keep_alive = False


class _Lingering:
    """A transport that hears the client out for a moment when it is closed.

    Closed in the middle of what a client sends, a connection is reset, and the answer is lost on its way.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop

    def close(self) -> None:
        """Say that nothing more comes, and close in a moment."""
        if not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(LINGER_SECONDS, self._transport.close)

    def __getattr__(self, name: str) -> Any:
        """Be the transport in everything else."""
        return getattr(self._transport, name)


def _size(headers: Iterable[tuple[bytes, bytes]]) -> int:
    return sum(len(name) + len(value) + len(": \r\n") for name, value in headers)


def _end_by_closing(cycle: RequestResponseCycle) -> None:
    """Have an answer of unknown length end with the connection, for a client that knows no chunks."""
    send = cycle.send
    measured = False

    async def plain(message: Any) -> None:
        nonlocal measured
        if message["type"] == "http.response.start":
            cast("Any", cycle.scope)["state"].pop(PUSH, None)  # it writes chunks
            measured = any(name == b"content-length" for name, _ in message["headers"])
            if not measured:
                cycle.chunked_encoding = False
        elif not measured:
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)
        if cycle.response_complete:
            del cast("Any", cycle).send  # it has the cycle, and the cycle has it

    cast("Any", cycle).send = plain
