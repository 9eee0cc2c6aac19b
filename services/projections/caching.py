"""Cheap polling: an entity tag over the exact bytes of an answer, and 304 where the reader has them already."""

from __future__ import annotations

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

_encode: Final = msgspec.json.Encoder().encode


def answer(request: Request, content: Content, cache_control: str = PUBLIC) -> Response[Content]:
    """Return an answer with its entity tag, or 304 without a body if ``If-None-Match`` holds that tag."""
    body = _encode(content)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": cache_control}
    if cache_control == PRIVATE:
        headers["Vary"] = "Authorization"
    held = [part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")]
    if tag in held or "*" in held:
        return cast("Response[Content]", Response(None, status_code=304, headers=headers))
    return cast("Response[Content]", Response(body, media_type="application/json", headers=headers))
