"""Health: alive means that the process answers; ready means that it could serve a request just now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from litestar import get
from msgspec import Struct

from services.runtime.service import Check, NotReadyError
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request

CHECK_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Checks:
    """Every check of the composed services, by name."""

    of: Mapping[str, Check]


class Health(Struct, frozen=True):
    """``status`` is ``alive`` or ``ready``; ``checks`` says ``ok`` or what is to be known, by name."""

    status: str
    checks: dict[str, str]


@get("/health/live", tags=["health"], operation_id="health_live", summary="Does the process answer?")
async def live() -> Health:
    """Answer at once, whatever else is down: restarting the process would not help that."""
    return Health("alive", {})


@get("/health/ready", tags=["health"], operation_id="health_ready", summary="Can it serve requests?")
async def ready(request: Request) -> Health:
    """Ask what the services need; 503 with the same list if something is away or the process is stopping."""
    checks = request.the(Checks).of
    found = dict(zip(checks, await asyncio.gather(*map(_result, checks.values())), strict=True))
    results = {name: told for name, (_, told) in found.items()}
    if request.platform.stopping.is_set():
        raise Problem("unavailable", "The service is stopping.", params={"checks": results})
    if not all(well for well, _ in found.values()):
        raise Problem("unavailable", "Not everything that is needed answers.", params={"checks": results})
    return Health("ready", results)


async def _result(check: Check) -> tuple[bool, str]:
    """Return whether a check passed, and what it said."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            remark = await check()
    except TimeoutError:
        return False, f"no answer within {CHECK_SECONDS:g} s"
    except NotReadyError as error:
        return False, str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the check has failed
        # The kind of error and not its text: a text may name hosts and users, and anybody may ask.
        return False, type(error).__name__
    return True, remark or "ok"
