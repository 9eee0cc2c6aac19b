"""Limits in front of handlers: counted before anything is done, told in the standard headers.

The headers are those of the IETF draft: ``RateLimit-Policy: "guests";q=6000;w=60`` says what holds, and
``RateLimit: "guests";r=5999;t=1`` how many are left and in how many seconds the quota is whole again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from litestar.connection import ASGIConnection

from services.runtime.limits import Policy, Verdict
from services.runtime.platform import Platform
from services.runtime.web.problems import Problem
from services.runtime.web.request import PLATFORM, Request


async def spend(request: Request, *charges: tuple[Policy, str]) -> dict[str, str]:
    """Count a request under each policy for its subject, and return the headers that tell of it.

    Raises:
        Problem: ``rate-limited``, by the first policy that has nothing left.
    """
    told: list[tuple[Policy, Verdict]] = []
    for policy, subject in charges:
        if not policy.quota:
            continue
        verdict = await request.platform.limiter.spend(policy, subject)
        told.append((policy, verdict))
        if not verdict.allowed:
            raise rate_limited(policy, verdict, told)
    return _headers(told)


def rate_limited(
    policy: Policy, verdict: Verdict, told: Sequence[tuple[Policy, Verdict]] | None = None
) -> Problem:
    """Return the refusal by a policy, with the headers of all that were asked."""
    seconds = max(1, ceil(verdict.retry_seconds))
    return Problem(
        "rate-limited",
        f"No more than {policy.quota} within {policy.window_seconds} s; the next may come in {seconds} s.",
        params={"policy": policy.name, "retry_seconds": seconds},
        headers={**_headers(told or [(policy, verdict)]), "Retry-After": str(seconds)},
    )


def address_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return what the requests of one client address are counted under."""
    client = connection.scope["client"]
    forwarded = [
        value.decode("latin-1") for name, value in connection.scope["headers"] if name == b"x-forwarded-for"
    ]
    platform: Platform = connection.app.state[PLATFORM]
    return platform.proxies.subject_of(client[0] if client else "", forwarded)


def _headers(told: Sequence[tuple[Policy, Verdict]]) -> dict[str, str]:
    if not told:
        return {}
    return {
        "RateLimit-Policy": ", ".join(
            f'"{policy.name}";q={policy.quota};w={policy.window_seconds}' for policy, _ in told
        ),
        "RateLimit": ", ".join(
            f'"{policy.name}";r={verdict.remaining};t={ceil(verdict.full_seconds)}'
            for policy, verdict in told
        ),
    }
