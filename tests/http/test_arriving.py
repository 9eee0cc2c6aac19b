"""Bodies that come slowly, or only in part."""

import asyncio

from services.runtime.web import arriving
from tests.http.demo import demo
from tests.http.serving import served

BODY = b'{"seat": 1}'


async def asked(port: int, head: bytes, *parts: bytes, pause_seconds: float) -> bytes:
    """Send a body piece by piece, and return all that is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)
    for part in parts:
        await writer.drain()
        await asyncio.sleep(pause_seconds)
        writer.write(part)
    async with asyncio.timeout(10):
        answer = await reader.readuntil(b"\r\n\r\n") + await reader.read(2000)
    writer.close()
    return answer


HEAD = (
    b"POST /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
)


async def test_a_body_that_does_not_come_is_answered(database, monkeypatch):
    monkeypatch.setattr(arriving, "BODY_SECONDS", 0.3)
    async with served(database, [demo]) as site:
        answer = await asked(site.port, HEAD, b"{", pause_seconds=0.0)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"body-too-slow"' in answer


async def test_a_slow_body_that_is_whole_in_time_is_taken(database, monkeypatch):
    monkeypatch.setattr(arriving, "BODY_SECONDS", 5.0)
    async with served(database, [demo]) as site:
        answer = await asked(site.port, HEAD, BODY[:4], BODY[4:], pause_seconds=0.1)
    assert answer.startswith(b"HTTP/1.1 200")
