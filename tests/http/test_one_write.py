"""Answers leave in one write, and none waits for a body that does not come."""

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from services.engine.app import service as engine
from services.runtime.web.one_write import OneWriteProtocol
from tests.http.serving import served

MOVE = b"POST /v1/matches/m_01KB9YABCDEFGHJKMNPQRSTVWX/moves HTTP/1.1\r\nHost: %b\r\nContent-Length: 2\r\n%b\r\n{}"
USUAL, UNUSUAL = b"localhost", b"[::1]"
"""A request to an unusual host goes Litestar's way to its handler, and its answer through the server's ``send``."""


async def answer_on(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return status, headers, await reader.readexactly(int(headers["content-length"]))


async def connected(site):
    return await asyncio.open_connection("127.0.0.1", site.port)


@pytest.mark.parametrize("path", ["/v1/games", "/v1/nowhere", "/health/live"])
async def test_head_is_answered_at_once(database: str, path: str) -> None:
    async with served(database, [engine], bots=False) as site:
        reader, writer = await connected(site)
        for _ in range(2):  # and the connection can be used again
            writer.write(b"HEAD %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
            async with asyncio.timeout(2):
                head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 404 " if b"nowhere" in path.encode() else b"HTTP/1.1 200 ")
            assert b"content-length: " in head.lower()
        writer.close()


async def test_written_past_send_an_answer_says_the_same(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    answer = OneWriteProtocol.answer

    def seen(*given):
        written.append(given[2])
        return answer(*given)

    monkeypatch.setattr(OneWriteProtocol, "answer", seen)
    async with served(database, [engine], bots=False) as site, asyncio.timeout(10):
        reader, writer = await connected(site)
        told = []
        for host in (USUAL, UNUSUAL):
            writer.write(MOVE % (host, b""))
            status, headers, body = await answer_on(reader)
            problem = msgspec.json.decode(body)
            assert problem.pop("request_id") == headers["x-request-id"]
            volatile = {"date": "", "ratelimit": "", "x-request-id": "", "content-length": ""}
            told.append((status, headers | volatile, problem))
        writer.close()
    assert written == [401]
    assert told[0] == told[1]


async def test_two_questions_in_one_packet_get_their_answers_in_order(database: str) -> None:
    async with served(database, [engine], bots=False) as site, asyncio.timeout(10):
        reader, writer = await connected(site)
        ids = ("first-of-two", "second-of-two")
        writer.write(b"".join(MOVE % (USUAL, b"X-Request-Id: %b\r\n" % name.encode()) for name in ids))
        assert [(await answer_on(reader))[1]["x-request-id"] for _ in ids] == list(ids)
        writer.close()


async def test_a_connection_is_closed_when_that_was_asked_for(database: str) -> None:
    async with served(database, [engine], bots=False) as site, asyncio.timeout(10):
        reader, writer = await connected(site)
        writer.write(MOVE % (USUAL, b"Connection: close\r\n"))
        status, headers, _ = await answer_on(reader)
        assert status.startswith("HTTP/1.1 401")
        assert headers["connection"] == "close"
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    "value", [b"fine\r\nset-cookie: a=b", b"fine\nset-cookie: a=b", b"fine\rset-cookie: a=b"]
)
def test_no_header_smuggles_in_another(value: bytes) -> None:
    written = []
    cycle = SimpleNamespace(
        response_started=False, disconnected=False, keep_alive=True, access_log=False, scope={"method": "POST"},
        default_headers=[(b"server", b"uvicorn")], message_event=asyncio.Event(), on_response=lambda: None,
    )  # fmt: skip
    protocol = SimpleNamespace(
        cycle=cycle, flow=SimpleNamespace(write_paused=False), transport=SimpleNamespace(write=written.append)
    )
    assert not OneWriteProtocol.answer(protocol, cycle.scope, 200, [(b"etag", value)], b"{}")
    assert not written
    assert OneWriteProtocol.answer(protocol, cycle.scope, 200, [(b"etag", b'"1"')], b"{}")
    assert written == [b'HTTP/1.1 200 OK\r\nserver: uvicorn\r\netag: "1"\r\n\r\n{}']
