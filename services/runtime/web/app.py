"""The app factory: one ASGI app for one service or for several."""

from __future__ import annotations

import itertools
import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final

import msgspec
from litestar import Litestar, Response, get
from litestar.datastructures import State
from litestar.exceptions import MethodNotAllowedException
from litestar.response import Redirect
from litestar.types import Message, Receive, Scope, Send

from services.contracts.ids import ENTROPY_BYTES, REQUEST, make_id
from services.runtime.platform import Platform
from services.runtime.service import Check, Factory, Service
from services.runtime.settings import Settings
from services.runtime.vault import KEY_BYTES
from services.runtime.web import catalogue, health, metrics, request_id
from services.runtime.web.bodies import SIZE_MAX
from services.runtime.web.problems import problem_of, response_of
from services.runtime.web.reference import documentation_of
from services.runtime.web.request import PLATFORM, PROVIDED, Request
from services.runtime.web.schema import DOCUMENTATION, HandlersPlugin, document_bytes, openapi_config
from services.runtime.web.streams import StreamHub

REQUESTS: Final = "requests"
REQUEST_NUMBERS: Final = "request_numbers"

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_logger: Final = logging.getLogger("macao.web")


class App(Litestar):
    """Litestar's app with one layer around everything, also around what no route matches: id, log line, count.

    It is written out here rather than as middlewares because every request pays for it.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        await self._observed(scope, receive, send)

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        state: dict[str, Any] = scope.setdefault("state", {})
        name = request_id.accepted(scope["headers"])  # type: ignore[arg-type]
        if name is None:
            name = f"{self.state[REQUESTS]}-{next(self.state[REQUEST_NUMBERS])}"
        state["request_id"] = name
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (request_id.HEADER, name.encode())]
                self._count(scope, status, time.perf_counter() - started)
            await send(message)

        try:
            await super().__call__(scope, receive, answer)
        except Exception as error:
            # Whatever a handler raises becomes a problem further in; here are only answers that broke half-way.
            _logger.exception("an answer broke off", extra={"request_id": name})
            if not status:
                raise
            del error

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"  # type: ignore[typeddict-item]
        route = scope.get("path_template") or "unmatched"
        self.state[PROVIDED][metrics.Metrics].answered(method, route, status, seconds)
        level = logging.DEBUG if status < 400 and method == "GET" else logging.INFO  # noqa: PLR2004
        if _logger.isEnabledFor(level):
            _logger.log(
                level, "request",
                extra={
                    "request_id": scope["state"]["request_id"], "method": method, "route": route,
                    "status": status, "ms": round(seconds * 1000, 2),
                },
            )  # fmt: skip


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
    # Request ids name this run of the process, and count: unique like random ones, and cheaper.
    run = make_id(REQUEST, shared.clock.now_ms(), shared.entropy(ENTROPY_BYTES))
    provided: dict[type, object] = {
        type(item): item for item in (health.Checks(checks), metrics.Metrics(), hub)
    }
    for service in services:
        provided.update({type(item): item for item in service.provides})
    app = App(
        route_handlers=[
            *(router for service in services for router in service.routers),
            health.live, health.ready, metrics.metrics,
            front_door, catalogue.list_problems, catalogue.get_problem, catalogue.jwks,
        ],
        request_class=Request,
        request_max_body_size=SIZE_MAX,
        exception_handlers={Exception: _refuse},
        lifespan=[_lifespan(shared, hub, services)],
        state=State({
            PLATFORM: shared, PROVIDED: provided, REQUESTS: run, REQUEST_NUMBERS: itertools.count(1),
            DOCUMENTATION: partial(documentation_of, services),
        }),
        openapi_config=openapi_config(tuple(service.name for service in services)),
        plugins=[HandlersPlugin()],
        logging_config=None,
        debug=False,
    )  # fmt: skip
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
            await stack.enter_async_context(platform)
            await stack.enter_async_context(hub.watching())
            for service in services:
                await stack.enter_async_context(service.lifespan())
            yield
            platform.stopping.set()

    return lifespan


def _database_check(platform: Platform) -> Check:
    async def check() -> None:
        await platform.database.pool.fetchval("SELECT 1")

    return check


def _refuse(request: Any, error: Exception) -> Response[bytes]:
    """Turn whatever was raised into a problem."""
    scope = request.scope
    name = scope["state"]["request_id"]
    problem = problem_of(error, name)
    if isinstance(error, MethodNotAllowedException):
        problem.headers = {"Allow": ", ".join(_offered(request.app, scope["path"]))}
    return response_of(problem, instance=scope["path"], request_id=name)


def _offered(app: Litestar, path: str) -> list[str]:
    """Return the methods that a path answers to."""
    offered: list[str] = []
    for method in _METHODS:
        try:
            app.asgi_router.handle_routing(path=path, method=method)
        except Exception:  # noqa: BLE001, S112 - routing says "not this one" by raising
            continue
        offered.append(method)
    return offered


@get("/", include_in_schema=False)
async def front_door() -> Redirect:
    """Send whoever opens the bare address to the description of the API."""
    return Redirect("/schema", status_code=307)
