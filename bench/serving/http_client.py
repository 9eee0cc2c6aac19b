"""An HTTP/1.1 client that does next to nothing, so that what is measured is the server.

It sends requests that were put together beforehand, one after another over one connection, and looks at no more of
an answer than its status and where it ends.
"""

from __future__ import annotations

import asyncio
from typing import Final, Self, cast

_LENGTH: Final = b"content-length: "


class AnswerError(Exception):
    """The server refused, or went away; the message holds what it said."""


class Connection(asyncio.Protocol):
    """One kept-alive connection. One request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._body_begins = 0
        self._ends = 0

    @classmethod
    async def to(cls, host: str, port: int) -> Self:
        """Connect."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, host, port)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is no subclass of it

    def data_received(self, data: bytes) -> None:
        """Take a piece of an answer, and hand it over when it is whole."""
        self._buffer += data
        if not self._ends:
            head_ends = self._buffer.find(b"\r\n\r\n")
            if head_ends < 0:
                return
            self._body_begins = head_ends + 4
            found = self._buffer.lower().find(_LENGTH, 0, head_ends)
            length = 0
            if found >= 0:
                length = int(self._buffer[found + len(_LENGTH) : self._buffer.index(b"\r", found)])
            self._ends = self._body_begins + length
        if len(self._buffer) < self._ends or self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        answer, self._buffer = self._buffer[: self._ends], self._buffer[self._ends :]
        self._ends = 0
        if waiting.done():
            return
        if answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            waiting.set_result(answer[self._body_begins :])
        else:
            waiting.set_exception(AnswerError(answer.decode("utf-8", "replace")))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(AnswerError(f"the connection was closed: {exc}"))

    def ask(self, request: bytes) -> asyncio.Future[bytes]:
        """Send a request, and return the future body of the answer.

        Raises:
            AnswerError: (from the future) the answer is neither 200 nor 201, or there is none.
        """
        assert self._transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


def post(path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """Put a POST with a JSON body together."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def get(path: str) -> bytes:
    """Put a GET together."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
