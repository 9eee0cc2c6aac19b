"""``python -m tests.faults.idle_clients PORT PATH COUNT``: so many streams, in a process with descriptors of its own.

Says ``open`` when all have their snapshot. Told a version on standard input, says ``heard`` when all have that event,
and hangs up.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

AT_A_TIME: Final = 100
SECONDS_MAX: Final = 120.0

Streams = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


async def opened(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a stream, and read as far as its snapshot."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode())
    await reader.readuntil(b"event: snapshot\n")
    return reader, writer


async def main(port: int, path: str, count: int) -> None:
    """Open, wait, hear, hang up."""
    streams: Streams = []
    async with asyncio.timeout(SECONDS_MAX):
        for at in range(0, count, AT_A_TIME):
            wanted = min(AT_A_TIME, count - at)
            streams += await asyncio.gather(*(opened(port, path) for _ in range(wanted)))
    tell("open")
    version = (await asyncio.to_thread(sys.stdin.readline)).strip()
    async with asyncio.timeout(SECONDS_MAX):
        for reader, _ in streams:
            await reader.readuntil(f"\nid: {version}\n".encode())
    tell("heard")
    for _, writer in streams:
        writer.transport.abort()


def tell(word: str) -> None:
    """Say something to the test."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
