"""Request bodies: strict JSON into frozen structs, straight from the bytes."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

import msgspec
from litestar.types import Receive
from msgspec import Struct

from services.runtime.web.problems import Problem

SIZE_MAX: Final = 64 * 1024
"""The most bytes that a request may have; no endpoint needs more."""

JSON: Final = "application/json"
UTF8_NAMES: Final = frozenset({"utf-8", "utf8"})

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
    """Turn the bytes of a body into ``kind``: no coercion, no unknown fields, no key twice in one object.

    Raises:
        Problem: ``unsupported-media-type`` or ``malformed-request``, with the place in ``params``.
    """
    if content_type != JSON:
        refuse_other_types(content_type)
    try:
        found = strictly(kind, body)
        refuse_doubled(body)
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
    return found


def refuse_other_types(content_type: str) -> None:
    """Refuse what is not JSON in UTF-8.

    Raises:
        Problem: ``unsupported-media-type``.
    """
    kind, *parameters = (part.strip() for part in content_type.lower().split(";"))
    if kind != JSON:
        raise Problem("unsupported-media-type", f"The Content-Type is {content_type[:80] or 'missing'}.")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"')
        if name.strip() == "charset" and charset not in UTF8_NAMES:
            raise Problem(
                "unsupported-media-type",
                f"The body is said to be in {charset[:40]!r}: JSON is taken in UTF-8 alone.",
            )


def refuse_coding(coding: str) -> None:
    """Refuse a body that is said to be compressed, or coded in another way.

    Raises:
        Problem: ``unsupported-media-type``.
    """
    raise Problem(
        "unsupported-media-type",
        f"The Content-Encoding of the body is {coding[:40]!r}: send it as it is, without that header.",
    )


def refuse_doubled(body: bytes) -> None:
    """Refuse JSON in which an object has a key twice: readers differ in which of the two they take.

    In nearly every body each string stands once, so no key can stand twice; that is seen without reading it again.

    Raises:
        Problem: ``malformed-request``.
        UnicodeDecodeError: a part that was only skipped so far is not UTF-8.
    """
    strings = body.split(b'"')[1::2]
    if b"\\" in body or len(set(strings)) != len(strings):
        try:
            json.loads(body.decode(), object_pairs_hook=_each_once, parse_int=str, parse_float=str)
        except json.JSONDecodeError as error:
            raise Problem("malformed-request", f"The body is not JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Problem("malformed-request", f"The key {key[:64]!r} stands twice in one object.")
        seen.add(key)


def _why_not_json(body: bytes, error: msgspec.DecodeError) -> str:
    if not body:
        return "The body is empty, and JSON is needed."
    if b"\\u" in body:
        return f"The body is not JSON, or escapes half of a surrogate pair: {error}"
    return f"The body is not JSON: {error}"
