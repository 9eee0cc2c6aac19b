"""Cross-origin requests: which pages of other origins may call the API. There are no cookies, so none are allowed."""

from __future__ import annotations

from typing import Final

from services.runtime.settings import SettingsError

_ALLOWED: Final = (
    b"authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-request-id"
)
_EXPOSED: Final = (
    b"etag, idempotent-replayed, location, ratelimit, ratelimit-policy, retry-after, www-authenticate,"
    b" x-request-id"
)
_METHODS: Final = b"GET, POST, PUT, PATCH, DELETE"
_PREFLIGHT_SECONDS: Final = b"7200"

Headers = list[tuple[bytes, bytes]]


class Origins:
    """The origins whose pages may read answers.

    Args:
        listed: origins with commas between them, as in the settings; ``*``: all; empty: none.

    Raises:
        SettingsError: one of them is no origin.
    """

    def __init__(self, listed: str) -> None:
        origins = [one.strip() for one in listed.split(",") if one.strip()]
        for one in origins:
            scheme, _, host = one.partition("://")
            if one != "*" and (scheme not in ("http", "https") or not host or "/" in host):
                raise SettingsError(
                    f"MACAO_CORS_ORIGINS cannot be used: {one!r} is not of the form https://host or https://host:port"
                )
        self._all = "*" in origins
        self._origins = frozenset(one.encode() for one in origins)

    def headers(self, origin: bytes) -> Headers:
        """Return what lets a page of an origin read an answer; nothing where it may not."""
        if self._all:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", _EXPOSED)]
        if origin not in self._origins:
            return [(b"vary", b"Origin")] if self._origins else []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"Origin"),
        ]

    def preflight(self, origin: bytes) -> Headers:
        """Return what the answer to a browser that asks before it sends a request has besides ``headers``."""
        if not self._all and origin not in self._origins:
            return []
        return [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _ALLOWED),
            (b"access-control-max-age", _PREFLIGHT_SECONDS),
        ]
