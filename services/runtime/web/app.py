"""The app factory: one ASGI app for one service or for several."""

from __future__ import annotations

import logging
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Litestar, Response, get
from litestar.datastructures import State
from litestar.exceptions import MethodNotAllowedException
from litestar.response import Redirect
from litestar.types import Receive, Scope, Send

from services.runtime.platform import Platform
from services.runtime.service import Check, Factory, Service
from services.runtime.settings import Settings, SettingsError
from services.runtime.vault import KEY_BYTES
from services.runtime.web import catalogue, health, metrics
from services.runtime.web.answering import Answering
from services.runtime.web.arriving import WITH_BODY, in_time
from services.runtime.web.bodies import SIZE_MAX
from services.runtime.web.compression import Compressing
from services.runtime.web.cors import Headers
from services.runtime.web.direct import DIRECT, direct_handlers
from services.runtime.web.edge import IN_API, Edge, Seen
from services.runtime.web.heads import as_get, method_of, without_body
from services.runtime.web.logs import TOLD, tell
from services.runtime.web.one_write import WHOLE, WRITE
from services.runtime.web.problems import Problem, problem_of, response_of
from services.runtime.web.protocol import UNFIT
from services.runtime.web.queries import only_known
from services.runtime.web.reference import documentation_of
from services.runtime.web.request import ARRIVED_MS, CODING, COMMAND, PLATFORM, PROVIDED, Request
from services.runtime.web.schema import DOCUMENTATION, HandlersPlugin, document_bytes, openapi_config
from services.runtime.web.streams import StreamHub
from services.runtime.web.tracing import ID_CHARS_MAX, TRACE_ID, traced

EDGE: Final = "edge"
"""Where an app keeps its edge in its state."""

_TOLD_IDS: Final = ("match_id", "table_id", "dispute_id")
"""What a path may name and the line in the log tells."""

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""What handlers are for; HEAD comes to those of GET (``heads.py``), and OPTIONS to none."""
_READS: Final = ("GET", "HEAD")
_COUNTED: Final = frozenset({*_METHODS, "HEAD"})
_logger: Final = logging.getLogger("macao.web")


class App(Litestar):
    """Litestar's app with the edge around it (``edge.py``), a log line and a count."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, a WebSocket, or the lifespan."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":
                scope, send = as_get(scope), without_body(send)
            traces = self.state[PLATFORM].traces
            if traces is None:
                await self._observed(scope, receive, send)
            else:
                await traced(traces, self._observed, scope, receive, send)
            return
        if scope["type"] == "websocket":
            edge: Edge = self.state[EDGE]
            scope.setdefault("state", {})["request_id"] = edge.look_at(scope["headers"]).id
        await super().__call__(scope, receive, send)

    async def _observed(self, scope: Any, receive: Receive, send: Send) -> None:
        edge: Edge = self.state[EDGE]
        seen = edge.look_at(scope["headers"])
        state: dict[str, Any] = scope.setdefault("state", {})
        state[ARRIVED_MS] = self.state[PLATFORM].clock.now_ms()
        state["request_id"] = seen.id
        if seen.coding:
            state[CODING] = seen.coding
        if seen.gzip and scope["method"] == "GET":
            send = Compressing(send)
            state.pop(WRITE, None)
        answer = Answering(scope, send, edge, seen, self._count)
        preflight = edge.preflight(seen) if scope["method"] == "OPTIONS" else None
        if preflight is not None:
            await answer.whole(Response(None, status_code=HTTPStatus.NO_CONTENT), more=preflight)
            return
        offered = _offered(self, scope["path"]) if scope["method"] == "OPTIONS" else []
        if offered:
            allow = {"Allow": ", ".join([*offered, "OPTIONS"])}
            await answer.whole(Response(None, status_code=HTTPStatus.NO_CONTENT, headers=allow))
            return
        try:
            answer.limits = _admitted(edge, scope, seen)
        except Problem as problem:
            await answer.whole(response_of(problem, instance=scope["path"], request_id=seen.id))
            return
        if scope["method"] in WITH_BODY and WHOLE not in state:
            receive = in_time(receive, state)
        try:
            for direct in self.state[DIRECT]:
                parameter = direct.takes(scope, seen.host)
                if parameter is not None:
                    await direct(self, scope, receive, answer, parameter)
                    return
            await super().__call__(scope, receive, answer)
        except Exception as error:
            # Whatever a handler raises becomes a problem further in; here are only answers that broke half-way.
            _logger.exception("an answer broke off", extra={TOLD: {"request_id": seen.id}})
            if not answer.status:
                raise
            del error

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = method_of(scope)
        if method not in _COUNTED:
            method = "OTHER"
        route = scope.get("path_template") or "unmatched"
        self.state[PROVIDED][metrics.Metrics].answered(method, route, status, seconds)
        level = logging.DEBUG if status < 400 and method in _READS else logging.INFO  # noqa: PLR2004
        if _logger.isEnabledFor(level):
            state: dict[str, Any] = scope["state"]
            told = {
                "request_id": state["request_id"], "method": method, "route": route,
                "status": status, "ms": round(seconds * 1000, 2),
            }  # fmt: skip
            told |= {name: state[name] for name in (COMMAND, TRACE_ID) if name in state}
            ids: dict[str, Any] = scope.get("path_params") or {}
            told |= {name: str(ids[name])[:ID_CHARS_MAX] for name in _TOLD_IDS if name in ids}
            tell(_logger, level, "request", told)


def create_app(settings: Settings, factories: Sequence[Factory], *, platform: Platform | None = None) -> App:
    """Compose services into one app. Nothing is opened before its lifespan begins.

    Args:
        settings: the process's settings.
        factories: the ``service`` function of each service.
        platform: given by tests that need another clock or other entropy.
    """
    shared = platform or Platform(settings)
    services = [factory(shared) for factory in factories]
    checks: dict[str, Check] = {"database": _database_check(shared)}
    for service in services:
        checks.update(service.checks)
    hub = StreamHub(shared)
    counts = metrics.Metrics(shared.registry)
    counts.refreshers.extend(service.refresh for service in services if service.refresh)
    provided: dict[type, object] = {type(item): item for item in (health.Checks(checks), counts, hub)}
    for service in services:
        provided.update({type(item): item for item in service.provides})
    app = App(
        route_handlers=[
            *(router for service in services for router in service.routers),
            health.live, health.ready, metrics.metrics,
            *(() if any(service.has_front_door for service in services) else (front_door,)),
            catalogue.list_problems, catalogue.get_problem, catalogue.jwks,
        ],
        request_class=Request,
        guards=[only_known],
        request_max_body_size=SIZE_MAX,
        exception_handlers={Exception: _refuse},
        lifespan=[_lifespan(shared, hub, services)],
        state=State({
            PLATFORM: shared, PROVIDED: provided, EDGE: Edge(shared),
            DOCUMENTATION: partial(documentation_of, services),
        }),
        openapi_config=openapi_config(tuple(service.name for service in services)),
        plugins=[HandlersPlugin()],
        logging_config=None,
        debug=False,
    )  # fmt: skip
    app.state[DIRECT] = direct_handlers(app)
    shared.app = app
    return app


def openapi_of(*factories: Factory) -> dict[str, Any]:
    """Return the OpenAPI document of services, which need neither a database nor a secret for that."""
    placeholder = urlsafe_b64encode(bytes(KEY_BYTES)).decode()
    settings = Settings(database_url="postgresql://localhost/none", secret_key=placeholder)
    found: dict[str, Any] = msgspec.json.decode(document_bytes(create_app(settings, factories)))
    return found


def _lifespan(platform: Platform, hub: StreamHub, services: list[Service]) -> Callable[[Litestar], Any]:
    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(platform)
                await stack.enter_async_context(hub.watching())
                for service in services:
                    await stack.enter_async_context(service.lifespan())
            except SettingsError as error:
                platform.unfit = error
                raise
            yield
            platform.stopping.set()

    return lifespan


def _database_check(platform: Platform) -> Check:
    async def check() -> None:
        await platform.database.pool.fetchval("SELECT 1")

    return check


def _admitted(edge: Edge, scope: Any, seen: Seen) -> Headers:
    """Let a request in, and return the headers that tell what is left of its quota.

    Raises:
        Problem: what could not be read (``protocol.py``), ``rate-limited``.
    """
    if UNFIT in scope["state"]:
        raise Problem(*scope["state"][UNFIT])
    return edge.count(scope, seen) if scope["path"].startswith(IN_API) else []


def _refuse(request: Any, error: Exception) -> Response[bytes]:
    """Turn whatever was raised into a problem."""
    scope = request.scope
    name = scope["state"]["request_id"]
    problem = problem_of(error, name)
    if isinstance(error, MethodNotAllowedException):
        offered = _offered(request.app, scope["path"])
        problem.headers = {"Allow": ", ".join(offered)}
        if not offered:
            problem.detail = "Only a WebSocket can be opened here: GET with Upgrade: websocket."
    return response_of(problem, instance=scope["path"], request_id=name)


def _offered(app: Litestar, path: str) -> list[str]:
    """Return the methods that a path answers to."""
    offered: list[str] = []
    for method in _METHODS:
        try:
            app.asgi_router.handle_routing(path=path, method=method)
        except Exception:  # noqa: BLE001, S112 - routing says "not this one" by raising
            continue
        offered += _READS if method == "GET" else (method,)
    return offered


@get("/", include_in_schema=False)
async def front_door() -> Redirect:
    """Send whoever opens the bare address to the description of the API."""
    return Redirect("/schema", status_code=307)
