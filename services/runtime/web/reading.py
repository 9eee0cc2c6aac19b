"""Reads that cost little when nothing has changed: entity tags, and 304 for who holds the answer already.

An entity tag is either the version of what is shown (known without building the answer) or a hash over the exact
bytes. Tags are compared weakly, as caches on the way may have compressed the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, TypeVar, cast

import msgspec
from litestar import Response
from msgspec import Struct

from services.runtime.web.request import Request

Content = TypeVar("Content", bound=Struct)

PUBLIC: Final = "public, max-age=2"
"""Boards: the same for everybody, and two seconds old is as good as new."""
PRIVATE: Final = "private, no-cache"
"""What depends on who asks; kept by that reader alone, and asked for again each time."""
RARE: Final = "public, max-age=300"
"""What changes with a new version of the service at most."""
FOREVER: Final = "public, max-age=86400, immutable"
"""What never changes again."""

_encode: Final = msgspec.json.Encoder().encode


def answer(request: Request, content: Content, cache_control: str = PUBLIC) -> Response[Content]:
    """Return an answer with the hash of its bytes as entity tag, or 304 without a body for who holds it."""
    return cast("Response[Content]", bytes_answer(request, _encode(content), cache_control))


def bytes_answer(
    request: Request,
    body: bytes,
    cache_control: str,
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Response[bytes]:
    """Return bytes as they are; see ``answer``."""
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    known = unchanged(request, tag, cache_control)
    if known is not None:
        return known
    return Response(
        body, media_type=media_type, headers={**headers_of(tag, cache_control), **(headers or {})}
    )


def unchanged(request: Request, tag: str, cache_control: str) -> Response[bytes] | None:
    """Return 304 if ``If-None-Match`` holds the tag, else None: then the answer has to be built."""
    given = request.header(b"if-none-match")
    if given is None:
        return None
    held = [part.strip().removeprefix("W/") for part in given.split(",")]
    if tag not in held and "*" not in held:
        return None
    return Response(
        b"", status_code=304, media_type="application/json", headers=headers_of(tag, cache_control)
    )


def headers_of(tag: str, cache_control: str) -> dict[str, str]:
    """Return the headers of an answer with an entity tag."""
    headers = {"ETag": tag, "Cache-Control": cache_control}
    if cache_control == PRIVATE:
        headers["Vary"] = "Authorization"
    return headers
