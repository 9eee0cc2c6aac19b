"""Opaque cursors: the key of the last item of a page, so that the next page goes on right behind it.

A cursor carries every part of the total order. Rows that move between two pages are then met at most
where they stand now, and no page is numbered from a count that has gone stale.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from litestar.params import QueryParameter
from msgspec import Meta

from services.runtime.web.problems import Problem

Key = TypeVar("Key")

PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 200
CURSOR_CHARS_MAX: Final = 256
BIGINT_MAX: Final = (1 << 63) - 1

Cursor: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        max_length=CURSOR_CHARS_MAX, description="`next` of the page before; without it the first page."
    ),
]
Limit: TypeAlias = Annotated[
    int, QueryParameter(ge=1, le=PAGE_MAX, description="How many items a page has at most.")
]

# Shapes of the parts of a key. What PostgreSQL could not take as a parameter must not get as far as there.
Number: TypeAlias = Annotated[int, Meta(ge=-BIGINT_MAX, le=BIGINT_MAX)]
Id: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z]_[a-z0-9A-Z.]{1,64}$")]


def cursor_of(key: tuple[str | int, ...]) -> str:
    """Return the cursor that stands behind ``key``."""
    return urlsafe_b64encode(msgspec.json.encode(key)).rstrip(b"=").decode()


def key_of(cursor: str, shape: type[Key]) -> Key:
    """Return the key inside a cursor.

    Raises:
        Problem: ``malformed-request``, it is not a cursor of this list.
    """
    try:
        return msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=shape)
    except (ValueError, msgspec.MsgspecError):
        raise Problem(
            "malformed-request", "cursor is not the `next` of a page of this list.", params={"at": "cursor"}
        ) from None
