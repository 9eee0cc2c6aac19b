"""What the protocol of uvicorn is helped with: answers leave in one write, and who has come whole is known to be.

Uvicorn writes head and body apart, which is two system calls and two packets.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

_HEAD_BEGINS: Final = b"HTTP/1.1 "
_HEAD_ENDS: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length: "
"""An answer that says how long its body is has that body ready. Streams do not, and their heads must not wait."""

WHOLE: Final = "whole"
"""Where the state of a request says that nothing of it has to be waited for."""

PUSH: Final = "push"
"""Where the state of a request has ``OneWriteProtocol.push``."""

TOGETHER: Final = "together"
"""Where the state of a WebSocket has ``SocketProtocol.together``."""

WRITE: Final = "write"
"""Where the state of a request has ``OneWriteProtocol.answer``, for that request."""


class JoiningTransport:
    """A transport that holds the head of an answer back until its body comes, which is at once."""

    def __init__(self, transport: asyncio.Transport) -> None:
        """Write to this transport."""
        self.inner: Final = transport
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write, or hold a head back."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(_HEAD_BEGINS) and data.endswith(_HEAD_ENDS) and _LENGTH in data:
            self._head = data
            return
        self.inner.write(data)

    def let_go(self) -> None:
        """Write what is held: no body comes, as of an answer to HEAD, which says how long it would have been."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Write what is held, and close."""
        self.let_go()
        self.inner.close()

    def __getattr__(self, name: str) -> Any:
        """Be the transport in everything else."""
        return getattr(self.inner, name)


class OneWriteProtocol(HttpToolsProtocol):
    """Uvicorn's protocol over such a transport.

    The state of a request says ``WHOLE`` once its body is there, and has under ``WRITE`` and ``PUSH`` what writes past
    ``send``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Be a connection of a server; see uvicorn."""
        super().__init__(*args, **kwargs)
        self._in_work: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        super().connection_made(cast("Any", JoiningTransport(cast("asyncio.Transport", transport))))

    def on_message_complete(self) -> None:
        """Take the end of a request. Of nearly all it comes with the beginning, before the app has seen either."""
        super().on_message_complete()
        state = cast("Any", self.scope)["state"]
        state[WHOLE] = True
        state[PUSH] = self.push
        state[WRITE] = self.answer

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection, and tell every request of it; uvicorn tells the one that came last alone."""
        super().connection_lost(exc)
        waiting = [cycle for cycle, _ in self.pipeline]
        for cycle in (self.last, self._in_work, *waiting):
            if cycle is None:
                continue
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
            # The request has us in its state, and we have it: a ring, which would wait for the garbage collector.
            state = cast("Any", cycle.scope)["state"]
            state.pop(PUSH, None)
            state.pop(WRITE, None)
        self._in_work = None
        self.pipeline.clear()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._in_work = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def last(self) -> RequestResponseCycle | None:
        """The last request whose head was whole; uvicorn's types know nothing of the time before the first."""
        return self.cycle

    def on_response_complete(self) -> None:
        """Take the end of an answer."""
        cast("JoiningTransport", self.transport).let_go()
        super().on_response_complete()

    def answer(self, scope: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Write a whole answer that says how long its body is, unless there is something unusual; say whether it was.

        ``send`` searches each name and value for what must not be in it, and that costs as much as deciding a move.
        Here the line ends are counted, once.
        """
        cycle = self.cycle
        if cycle.scope is not scope:
            return False  # more requests have come in behind this one
        head = b"".join([b"%b: %b\r\n" % header for header in [*cycle.default_headers, *headers]])
        if (
            cycle.response_started
            or cycle.disconnected
            or not cycle.keep_alive
            or cycle.access_log
            or self.flow.write_paused
            or scope["method"] == "HEAD"
            or head.count(b"\n") != len(cycle.default_headers) + len(headers)
            or head.count(b"\r") != head.count(b"\n")
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[status], head, body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def push(self, data: bytes) -> bool:
        """Write a part of a streamed answer that has begun, unless the client is slow or gone; say whether it was.

        For a part that goes to thousands this spares each of them a task that is woken to send it.
        """
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True
