"""The answer to one request on its way out: the edge adds its headers, and it is logged and counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from litestar import Response
from litestar.types import Message, Scope, Send

from services.runtime.web.cors import Headers
from services.runtime.web.edge import Edge, Seen
from services.runtime.web.one_write import WRITE

Told: TypeAlias = Callable[[Scope, int, float], None]
"""Told of an answer when it begins: what it answers, its status, and how many seconds that took."""


class Answering:
    """What a request is answered through; an ASGI ``send`` as well.

    Attributes:
        limits: the headers that tell what is left of the caller's quota.
        status: that of the answer; 0 until it begins.
    """

    __slots__ = ("_begun", "_edge", "_scope", "_seen", "_send", "_told", "limits", "status")

    def __init__(self, scope: Scope, send: Send, edge: Edge, seen: Seen, told: Told) -> None:
        self._scope: Final = scope
        self._send: Final = send
        self._edge: Final = edge
        self._seen: Final = seen
        self._told: Final = told
        self._begun: Final = time.perf_counter()
        self.limits: Headers = []
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            message["headers"] = self._begin(message["status"], list(message["headers"]))
        await self._send(message)

    async def whole(
        self, response: Response[Any], status: int = HTTPStatus.OK, more: Headers | None = None
    ) -> None:
        """Send an answer whose body is bytes, as it stands; ``status`` is for one that names none."""
        status = response.status_code or status
        body: bytes = response.content or b""
        headers = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
        if body:
            headers += [
                (b"content-type", str(response.media_type).encode()), (b"content-length", b"%d" % len(body)),
            ]  # fmt: skip
        headers = self._begin(status, [*headers, *(more or ())])
        write = self._scope["state"].get(WRITE) if body else None
        if write is None or not write(self._scope, status, headers, body):
            start: Any = {"type": "http.response.start", "status": status, "headers": headers}
            await self._send(start)
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _begin(self, status: int, headers: Headers) -> Headers:
        self.status = status
        finished = self._edge.finished(headers, self._seen, self.limits)
        self._told(self._scope, status, time.perf_counter() - self._begun)
        return finished
