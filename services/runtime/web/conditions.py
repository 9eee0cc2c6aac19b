"""Versions as entity tags: ``ETag: "12"`` on what is read, ``If-Match: "12"`` on what depends on it."""

from __future__ import annotations

import re
from typing import Final

from services.runtime.web.problems import Problem

_TAG: Final = re.compile(r'(?:W/)?"(\d{1,15})"|(\d{1,15})')


def etag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'


def version_in(header: str | None) -> int | None:
    """Return the version that an ``If-Match`` header names, or None where there is no header.

    Raises:
        Problem: ``malformed-request``, where the header names anything but one version.
    """
    if header is None:
        return None
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise Problem(
            "malformed-request", 'If-Match has to hold one version in quotes, as in If-Match: "12".'
        )
    return int(found[1] or found[2])
