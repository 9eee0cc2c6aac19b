"""HEAD: wherever GET works the same answer is given without its body (RFC 9110, 9.3.2).

Handlers know GET only. A request for a head goes to them as one, so status and headers are those of GET, entity tag and
length with them; the body is dropped on its way out.
"""

from __future__ import annotations

from typing import Any, Final

from litestar.types import Message, Send

HEAD_ONLY: Final = "head_only"
"""Where the state of a request says that its answer has no body: what would be told for hours need not be begun."""


def method_of(scope: Any) -> str:
    """Return the method that the client sent."""
    return "HEAD" if HEAD_ONLY in scope.get("state", ()) else str(scope["method"])


def as_get(scope: Any) -> Any:
    """Return the scope of a request for a head as that of a GET, in the same state."""
    scope.setdefault("state", {})[HEAD_ONLY] = True
    return {**scope, "method": "GET"}


def without_body(send: Send) -> Send:
    """Return a ``send`` that lets the head of an answer through, and says that nothing follows."""
    complete = False

    async def bodiless(message: Message) -> None:
        nonlocal complete
        if message["type"] == "http.response.start":
            await send(message)
        elif not complete:
            complete = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return bodiless
