"""Answers leave in one write, and none waits for a body that does not come."""

import asyncio

import pytest

from services.engine.app import service as engine
from tests.http.serving import served


@pytest.mark.parametrize("path", ["/v1/games", "/v1/nowhere", "/health/live"])
async def test_head_is_answered_at_once(database: str, path: str) -> None:
    async with served(database, [engine], bots=False) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
        for _ in range(2):  # and the connection can be used again
            writer.write(b"HEAD %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
            async with asyncio.timeout(2):
                head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 4")
            assert b"content-length: " in head.lower()
        writer.close()
