"""What uvicorn's protocol for WebSockets is helped with.

Messages leave without a task that sends them. And a message that comes as most do, in one frame of text that has
arrived whole, is taken out of its frame here: the library's general way to it takes fifteen times as long. Whatever
else comes goes to the library, which keeps the state of the connection; where it was given less than whole frames, it
alone knows where the next one begins, and gets everything from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.utils import apply_mask

from services.runtime.web.one_write import PUSH, TOGETHER, JoiningTransport

_WHOLE_TEXT: Final = 0x81
"""The first byte of a frame that is a whole message of text, with nothing that an extension has added."""
_MASKED: Final = 0x80
_LENGTH: Final = 0x7F
_LENGTH_FOLLOWS: Final = 126
_LONG_LENGTH_FOLLOWS: Final = 127
_SHORT_HEAD: Final = 6
_HEAD: Final = 8
"""The bytes before the payload of a client: two, two more with a length above 125, and four of the mask."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's protocol; the state of a connection has under ``PUSH`` and ``TOGETHER`` what writes past ``send``."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._aligned = True
        self._awaited = False
        self._held: list[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection over from HTTP. No head of an answer is to be held back any more."""
        made: Any = transport
        super().connection_made(made.inner if isinstance(made, JoiningTransport) else made)

    def handle_connect(self, event: Request) -> None:
        """Take the handshake; before the app runs, tell it how to write."""
        super().handle_connect(event)
        if not self.handshake_complete:  # else it was refused
            cast("Any", self.scope)["state"].update({PUSH: self.push, TOGETHER: self.together})

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        super().connection_lost(exc)
        if self.handshake_initiated and (scope := cast("Any", getattr(self, "scope", None))) is not None:
            # It has us in its state, and we have it: a ring, which would wait for the garbage collector.
            scope["state"].pop(PUSH, None)
            scope["state"].pop(TOGETHER, None)

    def push(self, frame: bytes) -> bool:
        """Write a whole frame, unless the client is slow or gone, or the connection is not open; say whether it was."""
        if not self.writable.is_set() or self.conn.state is not OPEN or self.transport.is_closing():
            return False
        if self._held is None:
            self.transport.write(frame)
        else:
            self._held.append(frame)
        return True

    def together(self, frame: bytes, then: Callable[[], None]) -> bool:
        """Push a frame, and with it, in one write, what ``then`` pushes here; say whether it came to that.

        A write is a packet and a call of the system, and costs a twentieth of a move.
        """
        self._held = []
        try:
            taken = self.push(frame)
            if taken:
                then()
        finally:
            held, self._held = self._held, None
            if held:
                self.transport.write(b"".join(held))
        return taken

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; the library gets it from the first frame on that is not a whole text."""
        while data and self._aligned and self.handshake_initiated:
            head, size = _measured(data)
            text = self._text_in(data, head, size) if 0 < size <= len(data) else None
            if text is None:
                self._aligned = size == len(data)
                break
            self._hear(text)
            data = data[size:]
        if data:
            super().data_received(data)

    async def receive(self) -> Any:
        """Return the next thing that the client has sent."""
        self._awaited = self.queue.empty()
        return await super().receive()

    def _text_in(self, data: bytes, head: int, size: int) -> str | None:
        """Return the text of a frame that is a whole message; None for what is the library's to judge."""
        if data[0] != _WHOLE_TEXT or self.conn.state is not OPEN or self.conn.current_size is not None:
            return None
        try:
            return apply_mask(data[head:size], data[head - 4 : head]).decode()
        except UnicodeDecodeError:
            return None

    def _hear(self, text: str) -> None:
        """Give a message to the app. While it waits for none, no more is read than has come."""
        if self.close_sent:
            return
        self.queue.put_nowait({"type": "websocket.receive", "text": text})
        if not self._awaited and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()
        self._awaited = False


def _measured(data: bytes) -> tuple[int, int]:
    """Return how long the head of a client's frame is, and head and payload together.

    0 for what is no such frame, is larger than a message may be, or does not say yet.
    """
    if len(data) < _SHORT_HEAD or not data[1] & _MASKED:
        return 0, 0
    length = data[1] & _LENGTH
    if length < _LENGTH_FOLLOWS:
        return _SHORT_HEAD, _SHORT_HEAD + length
    if length == _LONG_LENGTH_FOLLOWS:
        return 0, 0
    return _HEAD, _HEAD + int.from_bytes(data[2:4], "big")
