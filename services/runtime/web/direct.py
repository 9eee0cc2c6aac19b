"""The short way to a handler that is called more often than all others together.

Litestar finds routes, makes arguments, calls hooks and builds answers in general ways. For a move that costs as much as
deciding it. A handler with ``opt={DIRECT: True}`` is called by what it has declared, without that machinery: its check,
its body strictly decoded, itself, and its exception handler. It takes the request, one parameter of the path and
``data``, and answers with bytes. The route stays in Litestar as well: it describes the handler, and serves what is
unusual.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import Receive

from services.runtime.web.answering import Answering
from services.runtime.web.request import Request

DIRECT: Final = "direct"
"""The key of a handler's ``opt``."""

_PARAMETER: Final = re.compile(r"\{([a-z_]+)\}")
_SEGMENT: Final = "([A-Za-z0-9_-]+)"
_USUAL_HOST: Final = re.compile(rb"[A-Za-z0-9.-]+(:[0-9]{1,5})?")


class Direct:
    """One such handler.

    Args:
        handler: with one parameter in its path.
        template: its whole path, as metrics name it.
    """

    def __init__(self, handler: HTTPRouteHandler, template: str) -> None:
        (self._parameter,) = _PARAMETER.findall(template)
        self._path = re.compile(_PARAMETER.sub(_SEGMENT, template))
        self._template = template
        self._handler = handler
        self._method = next(iter(handler.http_methods))
        self._call = cast("Callable[..., Awaitable[Response[bytes]]]", handler.fn)
        self._body_type = handler.parsed_fn_signature.parameters["data"].annotation
        self._check = cast("Callable[[Request], Awaitable[None]]", handler.before_request)
        self._refuse = cast(
            "Callable[[Request, Exception], Response[bytes]]", handler.resolve_exception_handlers()[Exception]
        )

    def takes(self, scope: Any, host: bytes | None) -> str | None:
        """Return the parameter in the path if the request is for this handler and in no way unusual."""
        found = self._path.fullmatch(scope["path"])
        if (
            found is None
            or scope["method"] != self._method
            or scope.get("root_path")
            or scope["query_string"]
        ):
            return None
        return found[1] if host is None or _USUAL_HOST.fullmatch(host) else None

    async def __call__(
        self, app: Litestar, scope: Any, receive: Receive, answer: Answering, parameter: str
    ) -> None:
        """Answer a request."""
        scope["app"] = scope["litestar_app"] = app
        scope["path_params"] = {self._parameter: parameter}
        scope["path_template"] = self._template
        scope["route_handler"] = self._handler
        request = Request(scope, receive, answer)
        try:
            await self._check(request)
            data = await request.decoded(self._body_type)
            response = await self._call(request, parameter, data)
        except Exception as error:  # noqa: BLE001 - every one of them is a problem with a code
            response = self._refuse(request, error)
        await answer.whole(response, self._handler.status_code)


def direct_handlers(app: Litestar) -> list[Direct]:
    """Return the handlers of an app that are to be called directly."""
    return [
        Direct(handler, route.path_format)
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if handler.opt.get(DIRECT)
    ]
