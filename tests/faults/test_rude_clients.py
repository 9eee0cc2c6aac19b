"""Clients that send garbage, and clients that open streams and do not read them: nobody else notices."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import pytest

from services.engine.app import service
from services.lobby.app import service as lobby
from services.projections.app import service as projections
from services.web.app import service as web
from tests.http.serving import Served, served, stream_of
from tests.support.tree import ROOT

pytestmark = pytest.mark.slow

GARBAGE: Final = int(os.environ.get("MACAO_GARBAGE", "200"))
"""Pieces of it for each of the services."""
IDLE: Final = int(os.environ.get("MACAO_IDLE_STREAMS", "500"))
"""Streams that have nothing to tell for most of the time."""
MATCH: Final = "m_01KB9YABCDEFGHJKMNPQRSTVWX"
POST: Final = f"POST /v1/matches/{MATCH}/moves HTTP/1.1\r\nHost: x\r\n".encode()
BUFFER_BYTES_MAX: Final = 256 * 1024
"""What one connection may hold back for a client that does not read: a snapshot and some events."""


@pytest.fixture
async def engine(database: str) -> AsyncIterator[Served]:
    async with served(database, [service]) as running:
        yield running


def garbage(chance: random.Random) -> bytes:
    """Return something that is no good request: noise, other protocols, and requests that are damaged."""
    move = (
        f"POST /v1/matches/{MATCH}/moves HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        'Idempotency-Key: k\r\nIf-Match: "1"\r\nContent-Length: 24\r\n\r\n{"move":{"type":"roll"}}'
    ).encode()
    damaged = bytearray(move)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return chance.choice([
        chance.randbytes(chance.randint(1, 4000)),
        bytes(damaged),
        move[: chance.randrange(1, len(move))],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(300),
        b"\x00\x00\x00\x08\x04\xd2\x16\x2f",  # PostgreSQL's SSLRequest
        b"*1\r\n$4\r\nPING\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + chance.randbytes(60),
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + chance.randbytes(50),
        POST + b"Content-Length: 99999999999\r\n\r\n{",
        f"GET /v1/matches/{MATCH}/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: !\r\nSec-WebSocket-Version: 99\r\n\r\n".encode(),
    ])  # fmt: skip


async def throw(port: int, sent: bytes) -> bytes:
    """Send something, and return what is answered within a moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(sent)
        await writer.drain()
        writer.write_eof()
        async with asyncio.timeout(2):
            answer = await reader.read(1 << 16)
    writer.transport.abort()
    return answer


@pytest.mark.parametrize(
    "services",
    [[service], [lobby], [projections], [service, lobby, projections, web]],
    ids=["engine", "lobby", "projections", "all"],
)
async def test_garbage_gets_no_500_and_disturbs_nobody(database: str, services: list[Any]) -> None:
    chance = random.Random("garbage")
    statuses: set[bytes] = set()
    async with served(database, services) as running:
        for _ in range(GARBAGE // 20):
            answers = await asyncio.gather(*(throw(running.port, garbage(chance)) for _ in range(20)))
            statuses |= {answer.split(b" ", 2)[1] for answer in answers if answer.startswith(b"HTTP/1.1 ")}
            async with httpx.AsyncClient(base_url=running.url, timeout=10) as client:
                assert (await client.get("/health/ready")).status_code == 200
    assert statuses
    assert not {status for status in statuses if status >= b"500"}, statuses


class Player:
    """The lobby and the players of a match, over HTTP."""

    def __init__(self, engine: Served, client: httpx.AsyncClient) -> None:
        self._engine = engine
        self._client = client
        self._keys = iter(range(1_000_000))

    async def post(self, player: str, path: str, body: Any, **headers: str) -> Any:
        scopes = frozenset({"service"} if player == "lobby" else {"play"})
        headers["Authorization"] = f"Bearer {self._engine.platform.tokens.access_token(player, scopes)}"
        headers["Idempotency-Key"] = f"key-{next(self._keys)}"
        answer = await self._client.post(path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    async def start(self) -> str:
        asked = {"game": "dice-race", "seats": 2, "options": {"chips_to_win": 20}}
        committed = await self.post("lobby", "/v1/commitments", asked)
        await self.post("lobby", "/v1/matches", {
            "match_id": committed["match_id"], "table_id": "t_1", "game": "dice-race", "rated": True,
            "options": committed["options"], "seats": [{"player": "p_0"}, {"player": "p_1"}],
        })  # fmt: skip
        return str(committed["match_id"])


async def test_who_does_not_read_holds_up_nobody_and_misses_nothing(engine: Served) -> None:
    async with httpx.AsyncClient(base_url=engine.url, timeout=10) as client:
        player = Player(engine, client)
        match = await player.start()
        path = f"/v1/matches/{match}/stream"
        lazy = [open_stream(engine.port, path) for _ in range(20)]
        async with stream_of(engine.url, path) as attentive:
            event, version, view = await attentive.next()
            assert event == "snapshot"
            turn, last = view["turn"], version
            for _ in range(150):
                moved = await player.post(
                    f"p_{turn}",
                    f"/v1/matches/{match}/moves",
                    {"move": {"type": "roll"}},
                    **{"If-Match": f'"{version}"'},
                )
                version, turn = moved["version"], moved["turn"]
                if turn is None:
                    break
            while last < version:
                event, last, _ = await attentive.next(seconds=5)
        held = [one.transport.get_write_buffer_size() for one in engine.server.server_state.connections]
        assert max(held) < BUFFER_BYTES_MAX
        assert [await asyncio.to_thread(read_until, one, version) for one in lazy[:3]] == [True] * 3
        for one in lazy:
            one.close()


def open_stream(port: int, path: str) -> socket.socket:
    """Ask for a stream with as small a window as there is, and do not read it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect(("127.0.0.1", port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode())
    return client


def read_until(client: socket.socket, version: int) -> bool:
    """Read what has come meanwhile: say whether all events up to a version are there, in order and once."""
    client.settimeout(10)
    text = b""
    while f"\nid: {version}\n".encode() not in text:
        chunk = client.recv(1 << 16)
        assert chunk, "the stream ended"
        text += chunk
    ids = [int(line[4:]) for line in text.decode().splitlines() if line.startswith("id: ")]
    events = ids[1:]
    assert json.loads(text.split(b"data: ", 1)[1].split(b"\n", 1)[0])["version"] == ids[0]
    return events == list(range(ids[0] + 1, version + 1))


def allow_descriptors(wanted: int) -> None:
    """Raise the number of descriptors that this process may have; skip the test where that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
        except (ValueError, OSError):
            pytest.skip(f"{wanted} descriptors are needed, {hard} are allowed")


async def test_many_idle_streams_leave_room_for_moves_and_all_hear_of_them(database: str) -> None:
    allow_descriptors(IDLE + 500)
    async with (
        served(database, [service], streams_per_address=IDLE + 10) as running,
        httpx.AsyncClient(base_url=running.url, timeout=30) as client,
    ):
        player = Player(running, client)
        match = await player.start()
        path = f"/v1/matches/{match}/stream"
        clients = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.faults.idle_clients", str(running.port), path, str(IDLE),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT,
        )  # fmt: skip
        assert clients.stdin is not None
        assert clients.stdout is not None
        assert await clients.stdout.readline() == b"open\n"
        view = (await client.get(f"/v1/matches/{match}")).json()
        begun = time.monotonic()
        moved = await player.post(
            f"p_{view['turn']}", f"/v1/matches/{match}/moves", {"move": {"type": "roll"}},
            **{"If-Match": f'"{view["version"]}"'},
        )  # fmt: skip
        answered = time.monotonic() - begun
        clients.stdin.write(b"%d\n" % moved["version"])
        assert await clients.stdout.readline() == b"heard\n"
        heard = time.monotonic() - begun
        print(  # noqa: T201 - for docs/faults.md: pytest -s shows it
            f"{IDLE} idle streams: a move answered after {answered:.2f} s, heard by all after {heard:.2f} s"
        )
        assert await clients.wait() == 0
        async with asyncio.timeout(30):
            while len(running.server.server_state.connections) > 2:
                await asyncio.sleep(0.05)
        assert (await client.get("/health/ready")).status_code == 200
