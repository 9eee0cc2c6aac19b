"""The protocol of WebSockets: what is taken out of its frame here is what uvicorn's own protocol makes of it."""

import asyncio
import itertools

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
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
TEXTS = ["", "a", "grüße", "x" * 125, "y" * 126, "z" * 3_000]


class Line:
    """A transport that keeps what is written."""

    def __init__(self):
        self.written = b""
        self.writes = 0
        self.closing = False
        self.paused = False

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
        assert not self.paused
        self.paused = True

    def resume_reading(self):
        assert self.paused
        self.paused = False


class Connection:
    """A connection that an app has accepted, and what the app then hears."""

    def __init__(self, kind):
        self.heard = []
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
        self.protocol = kind(config, ServerState(), {})
        self.protocol.connection_made(JoiningTransport(self.line))

    async def _app(self, scope, receive, send):
        self.scope = scope
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            self.heard.append(message)
            if message["type"] == "websocket.disconnect":
                return

    async def opened(self):
        self.protocol.data_received(HANDSHAKE)
        await settled()
        assert b"101 Switching" in self.line.written
        self.line.written = b""
        return self

    async def given(self, pieces):
        """Send pieces as TCP might deliver them: no more while reading is paused."""
        for piece in pieces:
            while self.line.paused:
                await asyncio.sleep(0)
            if self.line.closing:
                break
            self.protocol.data_received(piece)
        await settled()
        return self

    async def ended(self):
        self.protocol.connection_lost(None)
        await asyncio.gather(*self.protocol.tasks, return_exceptions=True)


async def settled():
    for _ in range(20):
        await asyncio.sleep(0)


def framed(opcode, data, *, fin=True):
    return Frame(opcode, data, fin).serialize(mask=True)


def unmasked(data):
    return Frame(Opcode.TEXT, data).serialize(mask=False)


USUAL = {
    **{f"text of {len(text)}": framed(Opcode.TEXT, text.encode()) for text in TEXTS},
    "binary": framed(Opcode.BINARY, b"\x00\xff"),
    "ping": framed(Opcode.PING, b"are you there"),
    "pong": framed(Opcode.PONG, b""),
    "fragments": framed(Opcode.TEXT, b"in ", fin=False)
    + framed(Opcode.PING, b"")
    + framed(Opcode.CONT, b"two ", fin=False)
    + framed(Opcode.CONT, b"three"),
}
WRONG = {
    "no UTF-8": framed(Opcode.TEXT, b"\xff\xfe"),
    "no UTF-8 in fragments": framed(Opcode.TEXT, "ü".encode()[:1], fin=False) + framed(Opcode.CONT, b"x"),
    "too large": framed(Opcode.TEXT, b"x" * (MESSAGE_BYTES_MAX + 1)),
    "goes on with nothing": framed(Opcode.CONT, b"of nothing"),
    "begins anew": framed(Opcode.TEXT, b"begun", fin=False) + framed(Opcode.TEXT, b"anew"),
    "speaks after goodbye": framed(Opcode.CLOSE, b"\x03\xe8") + framed(Opcode.TEXT, b"too late"),
    "not masked": unmasked(b"not masked"),
    "compressed": b"\xc1" + framed(Opcode.TEXT, b"compressed")[1:],
    "no such kind": b"\x83" + framed(Opcode.TEXT, b"no such kind")[1:],
}
usual = st.sampled_from(sorted(USUAL))
conversations = st.one_of(
    st.lists(usual, min_size=1, max_size=8),
    st.tuples(st.lists(usual, max_size=4), st.sampled_from(sorted(WRONG))).map(
        lambda parts: [*parts[0], parts[1]]
    ),
)


@settings(max_examples=150, deadline=None)
@given(names=conversations, cuts=st.lists(st.floats(0, 1), max_size=5), whole=st.booleans())
def test_it_hears_and_says_what_the_library_does_however_the_bytes_are_cut(names, cuts, whole):
    frames = [(USUAL | WRONG)[name] for name in names]
    stream = b"".join(frames)
    between = {0, *itertools.accumulate(map(len, frames))}
    places = between if whole else {0, len(stream), *(int(cut * len(stream)) for cut in cuts)}

    async def both():
        results = []
        # Of a piece in which anything is wrong the library tells nothing; so it gets no two frames in one.
        for kind, cut in ((WebSocketsSansIOProtocol, places | between), (SocketProtocol, places)):
            pieces = [stream[a:b] for a, b in itertools.pairwise(sorted(cut))]
            connection = await (await Connection(kind).opened()).given(pieces)
            results.append((connection.heard.copy(), connection.line.written, connection.line.closing))
            await connection.ended()
        return results

    theirs, ours = asyncio.run(both())
    assert ours[1:] == theirs[1:]
    if names[-1] in USUAL:
        assert ours[0] == theirs[0]
    else:
        *heard, end = ours[0]
        assert end == theirs[0][-1]
        assert heard == theirs[0][: len(heard)]


async def test_what_comes_while_the_app_is_busy_is_not_read_on():
    connection = await Connection(SocketProtocol).opened()
    one, two, three = (framed(Opcode.TEXT, name) for name in (b"one", b"two", b"three"))
    connection.protocol.data_received(one)
    assert not connection.line.paused  # the app waits for it
    connection.protocol.data_received(two)
    assert connection.line.paused
    connection.protocol.data_received(three)  # it was in the same packet
    await settled()
    assert [message["text"] for message in connection.heard] == ["one", "two", "three"]
    assert not connection.line.paused
    await connection.ended()


async def test_it_pushes_what_the_library_would_send_and_nothing_to_who_is_slow_or_gone():
    connection = await Connection(SocketProtocol).opened()
    push = connection.scope["state"][PUSH]
    assert push(text_frame(b"told"))
    assert connection.line.written == unmasked(b"told")
    connection.protocol.pause_writing()
    assert not push(text_frame(b"slow"))
    connection.protocol.resume_writing()
    connection.protocol.data_received(framed(Opcode.CLOSE, b"\x03\xe8"))
    assert not push(text_frame(b"gone"))
    assert unmasked(b"slow") not in connection.line.written
    assert unmasked(b"gone") not in connection.line.written
    await connection.ended()


async def test_an_answer_and_what_follows_from_it_leave_in_one_write():
    connection, other = [await Connection(SocketProtocol).opened() for _ in range(2)]
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


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
def test_a_text_is_framed_as_the_library_frames_it(size):
    assert text_frame(b"x" * size) == unmasked(b"x" * size)
