"""The layer around everything, also around what no route matches: request id, limits, CORS, security headers, gzip.

It is written out here rather than as middlewares because every request pays for it: the headers are looked through
once, and nothing is awaited that a request does not need.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from services.contracts.ids import ENTROPY_BYTES, REQUEST, make_id
from services.runtime.limits import Meter, Verdict
from services.runtime.platform import Platform
from services.runtime.tokens.caller import Caller
from services.runtime.web import request_id
from services.runtime.web.compression import accepts_gzip
from services.runtime.web.cors import Headers, Origins
from services.runtime.web.limiting import rate_limited

API: Final = "/v1/"
"""What is counted; health, metrics, keys and pages are not."""
IN_API: Final = (API, "//")
"""How the path of a request for it may begin: routing passes over slashes that are too many."""

_BEARER: Final = b"bearer "
_PROTECTION: Final[Headers] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
]
_POLICY: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")


@dataclass(slots=True)
class Seen:
    """What the edge reads in a request."""

    id: str
    origin: bytes | None = None
    gzip: bool = False
    preflight: bool = False
    authorization: bytes | None = None
    forwarded: list[str] | None = None
    host: bytes | None = None
    coding: str | None = None


class Edge:
    """The edge of one app.

    Raises:
        SettingsError: the origins in the settings are none.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._origins = Origins(platform.settings.cors_origins)
        # Request ids name this run of the process, and count: unique like random ones, and cheaper.
        self._run = make_id(REQUEST, platform.clock.now_ms(), platform.entropy(ENTROPY_BYTES))
        self._numbers = itertools.count(1)
        self._policies = {
            meter: (
                b"ratelimit-policy",
                f'"{policy.name}";q={policy.quota};w={policy.window_seconds}'.encode(),
            )
            for meter in (platform.address_meter, platform.caller_meter)
            for policy in (meter.policy,)
        }
        self._protection = list(_PROTECTION)
        if platform.settings.public_url.startswith("https://"):
            self._protection.append(_TRANSPORT)

    def look_at(self, headers: Headers) -> Seen:
        """Read a request's headers, once."""
        seen = Seen("")
        for name, value in headers:
            if name == b"authorization":
                seen.authorization = seen.authorization or value  # as the check of it, which takes the first
            elif name == b"accept-encoding":
                seen.gzip = accepts_gzip(value)
            elif name == b"origin":
                seen.origin = value
            elif name == b"host":
                seen.host = value
            elif name == request_id.HEADER:
                seen.id = request_id.accepted(value) or ""
            elif name == b"x-forwarded-for":
                seen.forwarded = [*(seen.forwarded or ()), value.decode("latin-1")]
            elif name == b"access-control-request-method":
                seen.preflight = True
            elif name == b"content-encoding" and value.lower() != b"identity":
                seen.coding = value.decode("latin-1")
        if not seen.id:
            seen.id = f"{self._run}-{next(self._numbers)}"
        return seen

    def preflight(self, seen: Seen) -> Headers | None:
        """Return the headers of the answer to a browser's question whether it may ask; None where it is no such."""
        if seen.origin is None or not seen.preflight:
            return None
        return self._origins.preflight(seen.origin)

    def count(self, scope: Any, seen: Seen) -> Headers:
        """Count a request, and return the headers that tell what is left.

        Raises:
            Problem: ``rate-limited``.
        """
        caller = self._caller(seen.authorization)
        if caller is not None and "service" in caller.scopes:
            return []
        told: list[tuple[Meter, Verdict]] = []
        if self._platform.address_meter.policy.quota:
            meter = self._platform.address_meter
            told.append((meter, meter.spend(self.address(scope, seen))))
        if caller is not None and self._platform.caller_meter.policy.quota:
            meter = self._platform.caller_meter
            told.insert(0, (meter, meter.spend(caller.session or caller.player)))
        for meter, verdict in told:
            if not verdict.allowed:
                raise rate_limited(meter.policy, verdict)
        if not told:
            return []
        meter, verdict = told[0]
        left = b'"%b";r=%d;t=%d' % (meter.policy.name.encode(), verdict.remaining, ceil(verdict.full_seconds))
        return [self._policies[meter], (b"ratelimit", left)]

    def address(self, scope: Any, seen: Seen) -> str:
        """Return what the requests of one client address are counted under."""
        client = scope.get("client")
        peer = client[0] if client else ""
        return self._platform.proxies.subject_of(peer, seen.forwarded or ())

    def finished(self, headers: Any, seen: Seen, limits: Headers) -> Headers:
        """Return the headers of an answer with what the edge adds to them."""
        names = {name.lower() for name, _ in headers}
        added = [*headers, *self._protection, (request_id.HEADER, seen.id.encode())]
        if b"content-security-policy" not in names:
            added.append(_POLICY)
        if b"ratelimit" not in names:
            added += limits
        if seen.origin is not None:
            added += self._origins.headers(seen.origin)
        return added

    def _caller(self, authorization: bytes | None) -> Caller | None:
        """Return whose token it is, if it has been good before; a new one counts by its address until it is checked."""
        if authorization is None or authorization[: len(_BEARER)].lower() != _BEARER:
            return None
        return self._platform.tokens.known(authorization[len(_BEARER) :].strip().decode("latin-1"))
