"""A WebSocket client that does next to nothing, so that what is measured is the server.

Frames to be sent are put together beforehand (masked with zeros, which leaves the text as it is). Of what comes, it
looks at the beginning only: enough to know the answer to what was asked from everything else that a server tells.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable
from typing import Final, Self, cast

from bench.serving.http_client import AnswerError

TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA
_FINAL: Final = 0x80
_MASKED: Final = 0x80
_NO_MASK: Final = bytes(4)
_SHORT: Final = 126
_LONG: Final = 127


def framed(payload: bytes, opcode: int = TEXT) -> bytes:
    """Put a frame together, as a client has to send it."""
    if len(payload) < _SHORT:
        head = bytes((_FINAL | opcode, _MASKED | len(payload)))
    else:
        head = bytes((_FINAL | opcode, _MASKED | _SHORT)) + len(payload).to_bytes(2, "big")
    return head + _NO_MASK + payload


class WebSocket(asyncio.Protocol):
    """One connection, with one question at a time.

    Args:
        answers: how the payload of an answer begins; may be changed between two questions.
        refusals: how one begins that says that something is wrong.
        reply: gives a frame to be sent in reply to a payload that is neither, or None.
    """

    def __init__(
        self,
        answers: bytes,
        refusals: tuple[bytes, ...],
        reply: Callable[[bytes], bytes | None] | None = None,
    ) -> None:
        self.answers = answers
        self._refusals = refusals
        self._reply = reply
        self._buffer = b""
        self._open = False
        self._waiting: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def to(
        cls, port: int, path: str, answers: bytes, refusals: tuple[bytes, ...] = (),
        reply: Callable[[bytes], bytes | None] | None = None, headers: dict[str, str] | None = None,
    ) -> Self:  # fmt: skip
        """Connect to this machine, and shake hands.

        Raises:
            AnswerError: the server does not want to.
        """
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(answers, refusals, reply), "127.0.0.1", port)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in (headers or {}).items()),
        ]  # fmt: skip
        await made.ask(("\r\n".join(lines) + "\r\n\r\n").encode())
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is no subclass of it

    def data_received(self, data: bytes) -> None:
        """Take a piece of what the server says, and look at the frames that are whole."""
        self._buffer += data
        if not self._open and not self._take_handshake():
            return
        while (found := self._next()) is not None:
            self._heard(*found)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits."""
        self._settle(AnswerError(f"the connection was closed: {exc}"))

    def ask(self, frame: bytes) -> asyncio.Future[bytes]:
        """Send a frame, and return the future payload of the answer.

        Raises:
            AnswerError: (from the future) it is refused, or the connection ends.
        """
        self._waiting = asyncio.get_running_loop().create_future()
        self.send(frame)
        return self._waiting

    def send(self, frame: bytes) -> None:
        """Send a frame that nothing answers."""
        assert self._transport is not None
        self._transport.write(frame)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def _take_handshake(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        if not head.startswith(b"HTTP/1.1 101"):
            self._settle(AnswerError(head.decode("utf-8", "replace")))
            return False
        self._open = True
        self._settle(head)
        return True

    def _next(self) -> tuple[int, bytes] | None:
        """Take a frame from the buffer, if there is a whole one."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, begins = buffer[1], 2
        if length == _SHORT:
            length, begins = int.from_bytes(buffer[2:4], "big"), 4
        elif length == _LONG:
            length, begins = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < begins or len(buffer) < begins + length:
            return None
        self._buffer = buffer[begins + length :]
        return buffer[0], buffer[begins : begins + length]

    def _heard(self, first: int, payload: bytes) -> None:
        if payload.startswith(self.answers):
            self._settle(payload)
        elif self._refusals and payload.startswith(self._refusals):
            self._settle(AnswerError(payload.decode("utf-8", "replace")))
        elif first & 0xF == PING:
            self.send(framed(payload, PONG))
        elif not first & _FINAL:
            self._settle(AnswerError("a message came in pieces, which this client does not put together"))
        elif self._reply is not None and (frame := self._reply(payload)) is not None:
            self.send(frame)

    def _settle(self, outcome: bytes | AnswerError) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, AnswerError):
            waiting.set_exception(outcome)
        else:
            waiting.set_result(outcome)
