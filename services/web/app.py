"""The pages, wired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Router

from services.runtime.service import Service
from services.web import http
from services.web.files import Files

if TYPE_CHECKING:
    from services.runtime.platform import Platform

WEB: Final = "web"


def service(_platform: Platform) -> Service:
    """Build the pages. They need nothing of the platform: all that they show comes from the public API."""
    router = Router("/", route_handlers=[http.page, http.asset, http.icon])
    return Service(WEB, (router,), provides=(Files(),), has_front_door=True)
