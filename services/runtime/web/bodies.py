"""Request bodies: strict JSON into frozen structs, straight from the bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.runtime.web.problems import Problem

SIZE_MAX: Final = 64 * 1024
"""The most bytes that a request may have; no endpoint needs more."""


class Body(Struct, frozen=True, forbid_unknown_fields=True):
    """The base of every request body: a field that the endpoint does not know is refused rather than ignored."""


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(kind: Any, body: bytes, content_type: str) -> Any:
    """Turn the bytes of a body into ``kind``: no coercion, no unknown fields.

    Raises:
        Problem: ``unsupported-media-type`` or ``malformed-request``, with the place in ``params``.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Problem("unsupported-media-type", f"The Content-Type is {content_type[:80] or 'missing'}.")
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `")
        raise Problem(
            "malformed-request", message + (f" (at {place.rstrip('`')})" if place else ""),
            params={"at": place.rstrip("`") or "$"},
        ) from None  # fmt: skip
    except msgspec.DecodeError as error:
        raise Problem("malformed-request", f"The body is not JSON: {error}") from None
    except UnicodeDecodeError:
        raise Problem("malformed-request", "The body is not UTF-8.") from None
    except RecursionError:
        raise Problem("malformed-request", "The body is nested too deeply.") from None
