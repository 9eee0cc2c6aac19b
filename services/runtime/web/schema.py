"""The OpenAPI document, and a page to read and try it that asks no other host for anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from litestar import Litestar, MediaType, Response, Router, get
from litestar.config.app import AppConfig
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.params import FromPath
from litestar.plugins import InitPlugin
from litestar.routes import HTTPRoute

from services.contracts.problems import PROBLEMS
from services.runtime.web.authentication import needs
from services.runtime.web.openapi import document_of
from services.runtime.web.operations import Keyed, OptionallyKeyed
from services.runtime.web.problems import MEDIA_TYPE, ProblemDocument

VERSION: Final = "0.1.0"
SCHEME: Final = "token"
OPTIONAL_TOKEN: Final[list[dict[str, list[str]]]] = [{}, {SCHEME: []}]
"""``security`` of an operation that answers everybody, and shows more to who brings a token."""

DOCUMENT: Final = "document"
DOCUMENTATION: Final = "documentation"
"""Where an app keeps its document, and what makes it, in its state."""

_ASSETS: Final = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
_START: Final = b"""window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: "/schema/openapi.json",
    dom_id: "#pages",
    deepLinking: true,
    persistAuthorization: true,
    validatorUrl: null,
  });
});
"""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" type="image/png" href="/schema/assets/favicon-32x32.png">
<link rel="stylesheet" href="/schema/assets/swagger-ui.css">
</head>
<body>
<div id="pages"></div>
<script src="/schema/assets/swagger-ui-bundle.js"></script>
<script src="/schema/assets/start.js"></script>
</body>
</html>
"""
# Swagger UI sets styles from its script and embeds its icons as data; everything else comes from this host.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; connect-src 'self'"
)


class SchemaPlugin(OpenAPIRenderPlugin):
    """``/schema``: the page for a browser, the document for everybody else."""

    def __init__(self) -> None:
        super().__init__(path=["/", "/openapi.json"])

    def render(self, request: Any, openapi_schema: dict[str, Any]) -> bytes:
        """Answer with what the client accepts. Litestar takes a whole response as well as the bytes it asks for."""
        if "text/html" in request.headers.get("accept", ""):
            page = _PAGE.format(title=openapi_schema["info"]["title"])
            response: Response[Any] = Response(
                page, media_type="text/html", headers={"Content-Security-Policy": _POLICY}
            )
        else:
            response = Response(document_bytes(request.app), media_type="application/json")
        return cast("bytes", response)

    def receive_router(self, router: Router) -> None:
        """Add the page's assets; and leave what is not there to the problem that every other path answers with."""
        router.routes = [route for route in router.routes if "{path:str}" not in route.path]
        router.register(asset)


@get("/assets/{name:str}", include_in_schema=False)
async def asset(name: FromPath[str]) -> Response[bytes]:
    """Return one of the files that the page consists of, from the installed package."""
    headers = {"Cache-Control": "public, max-age=3600"}
    if name == "start.js":
        return Response(_START, media_type="text/javascript", headers=headers)
    media_type = _ASSETS.get(name)
    spec = find_spec("swagger_ui_bundle")
    if media_type is None or spec is None or spec.origin is None:
        raise NotFoundException
    # The package keeps its files under a directory that is named after the version it carries.
    found = next(Path(spec.origin).parent.glob(f"vendor/*/{name}"), None)
    if found is None:
        raise NotFoundException
    return Response(found.read_bytes(), media_type=media_type, headers=headers)


@dataclass
class Refusals(ResponseSpec):
    """One status with which an operation refuses, and the codes that its problems have."""

    codes: tuple[str, ...] = ()


def refusals(*codes: str) -> dict[int, ResponseSpec]:
    """Return what a handler's ``responses`` says of the problems that it answers with, besides the common ones."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return {
        status: Refusals(
            ProblemDocument,
            generate_examples=False,
            media_type=cast("MediaType", MEDIA_TYPE),
            codes=tuple(dict.fromkeys(found)),
        )
        for status, found in sorted(by_status.items())
    }


def document_bytes(app: Litestar) -> bytes:
    """Return the document of an app as JSON; it is made when it is first asked for."""
    state = app.state
    if DOCUMENT not in state:
        state[DOCUMENT] = msgspec.json.encode(document_of(app, state[DOCUMENTATION]()))
    return cast("bytes", state[DOCUMENT])


class HandlersPlugin(InitPlugin):
    """Completes the services' handlers: what follows from a handler itself need not be said twice."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Document security schemes and common problems, and arrange the checks of scopes."""
        for given in app_config.route_handlers:
            if isinstance(given, HTTPRouteHandler):
                self._complete(given)
            for route in given.routes if isinstance(given, Router) else ():
                for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
                    self._complete(handler)
        return app_config

    @staticmethod
    def _complete(handler: HTTPRouteHandler) -> None:
        common = ["malformed-request", "rate-limited", "internal-error", "unavailable"]
        for guard in list(handler.guards or ()):
            if isinstance(guard, needs):
                handler.security = [{SCHEME: [guard.scope]}]
                common += ["unauthenticated", "forbidden"]
                if handler.before_request is None:
                    # The same at a fraction of the cost: Litestar copies the whole handler for every guard it asks.
                    handler.guards = [other for other in handler.guards or () if other is not guard]
                    handler.before_request = guard.check
        if handler.security == OPTIONAL_TOKEN:
            common.append("unauthenticated")
        if "data" in handler.parsed_fn_signature.parameters:
            common += ["unsupported-media-type", "body-too-large", "body-too-slow"]
        if issubclass(handler.operation_class, Keyed):
            common.append("idempotency-key-missing")
        if issubclass(handler.operation_class, (Keyed, OptionallyKeyed)):
            common += ["idempotency-key-malformed", "idempotency-key-reused"]
        shared = refusals(*common)
        for status, own in (handler.responses or {}).items():
            both = shared.get(status)
            if isinstance(own, Refusals) and isinstance(both, Refusals):
                shared[status] = replace(own, codes=tuple(dict.fromkeys((*both.codes, *own.codes))))
            else:
                shared[status] = own
        handler.responses = dict(sorted(shared.items()))


def openapi_config(names: tuple[str, ...]) -> OpenAPIConfig:
    """Return the configuration of the document for these services."""
    return OpenAPIConfig(
        title=f"Macao: {', '.join(names)}" if names else "Macao",
        version=VERSION,
        path="/schema",
        render_plugins=[SchemaPlugin()],
        use_handler_docstrings=True,
        components=Components(
            security_schemes={
                SCHEME: SecurityScheme(
                    type="http",
                    scheme="bearer",
                    bearer_format="JWT",
                    description="The `token` of `POST /v1/players`, `/v1/tokens` or `/v1/players/me/tokens`. Most of"
                    " what is only read needs none. Scopes are named at each operation.",
                )
            }
        ),
    )
