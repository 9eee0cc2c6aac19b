"""What a service hands to the web app factory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from litestar import Router

if TYPE_CHECKING:
    from services.runtime.platform import Platform
    from services.runtime.web.openapi.documentation import Documentation

Check = Callable[[], Awaitable[str | None]]
"""Returns when the thing checked is well, or well enough, with a remark then; raises when it is not."""


class NotReadyError(Exception):
    """Raised by a check to say what is wrong in words that anybody may read."""


@dataclass(frozen=True, slots=True)
class Service:
    """One service, wired: built by ``service(platform)`` in its ``app.py`` while nothing is open yet.

    Attributes:
        name: as in ``macao serve NAME``.
        routers: its endpoints.
        provides: objects that handlers reach by their type with ``request.the(Type)``; one of each type.
        lifespan: opens what the service keeps running (subscriptions, reconcilers) once the platform is open,
            and closes it again.
        checks: what ``/health/ready`` asks besides the platform, by name.
        documentation: makes what the OpenAPI document says beyond the handlers; called when it is asked for.
        refresh: brings gauges of its own in the platform's registry up to date, before they are read.
        has_front_door: whether a router of it answers at ``/``. Where none does, that leads to the API's description.
    """

    name: str
    routers: tuple[Router, ...]
    provides: tuple[object, ...] = ()
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])
    documentation: Callable[[], Documentation] | None = None
    refresh: Callable[[], Awaitable[None]] | None = None
    has_front_door: bool = False


Factory = Callable[["Platform"], Service]
"""The ``service`` function of a service's ``app.py``."""
