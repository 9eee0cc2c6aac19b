"""gzip for reads that are large enough to gain by it. Moves and streams are never touched: they are to be quick."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any, Final

from litestar.types import Message, Send

SIZE_MIN: Final = 1_500
"""Below that an answer fits one packet anyway."""
IN_LOOP_MAX: Final = 64 * 1024
"""Larger ones are compressed in a thread, so that other requests go on."""
LEVEL: Final = 4

_KINDS: Final = (
    b"application/json",
    b"application/x-ndjson",
    b"text/markdown",
    b"text/html",
    b"text/javascript",
    b"text/css",
)


class Compressing:
    """A ``send`` that compresses an answer which comes in one piece."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: dict[str, Any] | None = None

    async def __call__(self, message: Message) -> None:
        """Hold the beginning of the answer back until its body is there."""
        if message["type"] == "http.response.start" and _can_gain(message["headers"]):
            self._start = dict(message)
            return
        if self._start is not None and message["type"] == "http.response.body":
            start, self._start = self._start, None
            body = message.get("body", b"")
            if not message.get("more_body") and len(body) >= SIZE_MIN:
                body = await _compressed(body)
                start["headers"] = [
                    *(one for one in start["headers"] if one[0].lower() != b"content-length"),
                    (b"content-length", str(len(body)).encode()),
                    (b"content-encoding", b"gzip"),
                ]
                message = {**message, "body": body}
            start["headers"] = [*start["headers"], (b"vary", b"Accept-Encoding")]
            await self._send(start)  # type: ignore[arg-type]
        await self._send(message)


def accepts_gzip(header: bytes) -> bool:
    """Say whether an ``Accept-Encoding`` header takes gzip."""
    for part in header.lower().split(b","):
        name, _, quality = part.partition(b";")
        if name.strip() in (b"gzip", b"*"):
            return quality.strip().replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def _can_gain(headers: Any) -> bool:
    kind = b""
    for name, value in headers:
        lower = name.lower()
        if lower == b"content-type":
            kind = value.partition(b";")[0]
        elif lower == b"content-encoding":
            return False
    return kind in _KINDS


async def _compressed(body: bytes) -> bytes:
    if len(body) > IN_LOOP_MAX:
        return await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
    return gzip.compress(body, LEVEL, mtime=0)
