"""Request bodies: strict JSON into frozen structs, straight from the bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
from litestar.types import Receive
from msgspec import Struct

from services.runtime.web.problems import Problem

SIZE_MAX: Final = 64 * 1024
"""The most bytes that a request may have; no endpoint needs more."""

DIGITS_MAX: Final = 16
"""The most digits of a ``Content-Length`` that are read."""


class Body(Struct, frozen=True, forbid_unknown_fields=True):
    """The base of every request body: a field that the endpoint does not know is refused rather than ignored."""


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def strictly(kind: Any, body: bytes | msgspec.Raw) -> Any:
    """Decode JSON without coercion; only that 2.0 is the whole number 2, as JSON knows no integers.

    Raises:
        DecodeError: and ``ValidationError``, which is one.
    """
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise
        return msgspec.convert(_with_whole_numbers(msgspec.json.decode(body)), kind)


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_whole_numbers(one) for one in value]
    if isinstance(value, dict):
        return {key: _with_whole_numbers(one) for key, one in value.items()}
    return value


async def whole(receive: Receive, announced: str | None) -> bytes:
    """Return the body of a request.

    Args:
        receive: gives the parts of it.
        announced: what ``Content-Length`` says, None without one.

    Raises:
        Problem: ``body-too-large``, also where it only says that it will be; ``malformed-request``, when the client
            has gone in the middle of it, or announces what is no number.
    """
    if announced is not None:
        if not announced.isdecimal():
            raise Problem("malformed-request", "Content-Length is not a number.")
        if len(announced) > DIGITS_MAX or int(announced) > SIZE_MAX:
            raise Problem("body-too-large")
    body = b""
    more = True
    while more:
        message: Any = await receive()
        if message["type"] != "http.request":
            raise Problem("malformed-request", "The body ended before it was whole.")
        body += message.get("body", b"")
        if len(body) > SIZE_MAX:
            raise Problem("body-too-large")
        more = message.get("more_body", False)
    return body


def decode(kind: Any, body: bytes, content_type: str) -> Any:
    """Turn the bytes of a body into ``kind``: no coercion, no unknown fields.

    Raises:
        Problem: ``unsupported-media-type`` or ``malformed-request``, with the place in ``params``.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Problem("unsupported-media-type", f"The Content-Type is {content_type[:80] or 'missing'}.")
    try:
        return strictly(kind, body)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `")
        raise Problem(
            "malformed-request", message + (f" (at {place.rstrip('`')})" if place else ""),
            params={"at": place.rstrip("`") or "$"},
        ) from None  # fmt: skip
    except msgspec.DecodeError as error:
        raise Problem("malformed-request", _why_not_json(body, error)) from None
    except UnicodeDecodeError:
        raise Problem("malformed-request", "The body is not UTF-8.") from None
    except RecursionError:
        raise Problem("malformed-request", "The body is nested too deeply.") from None


def _why_not_json(body: bytes, error: msgspec.DecodeError) -> str:
    if not body:
        return "The body is empty, and JSON is needed."
    if b"\\u" in body:
        return f"The body is not JSON, or escapes half of a surrogate pair: {error}"
    return f"The body is not JSON: {error}"
