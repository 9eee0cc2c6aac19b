"""What uvicorn's protocol for WebSockets is helped with.

Messages leave without a task that sends them, and those that belong together in one write. What comes is the library's
business alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import OPEN

from services.runtime.web.one_write import PUSH, TOGETHER, JoiningTransport


class SocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's protocol; the state of a connection has under ``PUSH`` and ``TOGETHER`` what writes past ``send``."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
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
