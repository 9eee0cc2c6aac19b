"""Request ids: taken over from a client or a proxy where they are sane, else made here; returned and logged."""

from __future__ import annotations

import re
from typing import Final

HEADER: Final = b"x-request-id"

_SANE: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}")


def accepted(value: bytes) -> str | None:
    """Return the id that a request brought along, or None if it is not one that we would write into a log."""
    return value.decode("ascii") if _SANE.fullmatch(value) else None
