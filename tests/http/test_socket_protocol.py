"""The protocol of WebSockets: what is written past the library is what it would have written."""

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from services.runtime.web.frames import text_frame
from services.runtime.web.one_write import PUSH, TOGETHER, JoiningTransport
from services.runtime.web.socket_protocol import SocketProtocol
from services.runtime.web.sockets import MESSAGE_BYTES_MAX

HANDSHAKE = (
    b"GET /there HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Line:
    """A transport that keeps what is written."""

    def __init__(self):
        self.written = b""
        self.writes = 0
        self.closing = False

    def get_extra_info(self, _name, default=None):
        return default

    def write(self, data):
        self.written += data
        self.writes += 1

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


class Connection:
    """A connection that an app has accepted."""

    def __init__(self):
        self.scope = None
        self.line = Line()
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            log_config=None,
            ws_max_size=MESSAGE_BYTES_MAX,
            ws_per_message_deflate=False,
            ws_ping_interval=None,
        )
        config.load()
        self.protocol = SocketProtocol(config, ServerState(), {})
        self.protocol.connection_made(JoiningTransport(self.line))

    async def _app(self, scope, receive, send):
        self.scope = scope
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass

    async def opened(self):
        self.protocol.data_received(HANDSHAKE)
        await settled()
        assert b"101 Switching" in self.line.written
        self.line.written = b""
        return self

    async def ended(self):
        self.protocol.connection_lost(None)
        await asyncio.gather(*self.protocol.tasks, return_exceptions=True)


async def settled():
    for _ in range(20):
        await asyncio.sleep(0)


def unmasked(data):
    return Frame(Opcode.TEXT, data).serialize(mask=False)


async def test_it_pushes_what_the_library_would_send_and_nothing_to_who_is_slow_or_gone():
    connection = await Connection().opened()
    push = connection.scope["state"][PUSH]
    assert push(text_frame(b"told"))
    assert connection.line.written == unmasked(b"told")
    connection.protocol.pause_writing()
    assert not push(text_frame(b"slow"))
    connection.protocol.resume_writing()
    connection.protocol.data_received(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=True))
    assert not push(text_frame(b"gone"))
    assert unmasked(b"slow") not in connection.line.written
    assert unmasked(b"gone") not in connection.line.written
    await connection.ended()


async def test_an_answer_and_what_follows_from_it_leave_in_one_write():
    connection, other = [await Connection().opened() for _ in range(2)]
    push, together = (connection.scope["state"][name] for name in (PUSH, TOGETHER))
    far = other.scope["state"][PUSH]
    before = connection.line.writes

    def follows():
        assert push(text_frame(b"event"))
        assert far(text_frame(b"event"))

    assert together(text_frame(b"answer"), follows)
    assert (connection.line.writes - before, connection.line.written) == (
        1, unmasked(b"answer") + unmasked(b"event"),
    )  # fmt: skip
    assert other.line.written == unmasked(b"event")
    assert push(text_frame(b"later"))
    assert connection.line.written.endswith(unmasked(b"later"))
    connection.protocol.pause_writing()
    assert not together(text_frame(b"slow"), pytest.fail)
    for one in (connection, other):
        await one.ended()
        assert not {PUSH, TOGETHER} & set(one.scope["state"])
