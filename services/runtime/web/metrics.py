"""What the web layer counts for Prometheus, and the page that it scrapes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from litestar import Response, get
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from services.runtime.web.request import Request

REFRESH_SECONDS: Final = 2.0
"""How long the services may take to bring their gauges up to date; what is late keeps its last value."""

_logger: Final = logging.getLogger(__name__)
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """What the web layer counts, in the registry of its process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry: Final = registry
        self.refreshers: Final[list[Callable[[], Awaitable[None]]]] = []
        self.streams: Final = Gauge("macao_http_streams", "Streams that are open", registry=self.registry)
        self._requests = Counter(
            "macao_http_requests", "Requests answered", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "macao_http_request_seconds", "Time to the start of the answer", ("method", "route"),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        # `labels()` takes a lock and builds a key each time; there are only so many routes and statuses.
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._timers: dict[tuple[str, str], Histogram] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        counter = self._counters.get((method, route, status))
        if counter is None:
            counter = self._counters[method, route, status] = self._requests.labels(method, route, status)
        counter.inc()
        timer = self._timers.get((method, route))
        if timer is None:
            timer = self._timers[method, route] = self._seconds.labels(method, route)
        timer.observe(seconds)

    async def exposition(self) -> bytes:
        """Return the text that Prometheus scrapes."""
        for refresh in self.refreshers:
            try:
                async with asyncio.timeout(REFRESH_SECONDS):
                    await refresh()
            except Exception as error:  # noqa: BLE001 - the other metrics are wanted most when something is away
                _logger.warning("gauges could not be brought up to date: %r", error)
        return generate_latest(self.registry)


@get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response[bytes]:
    """Answer with every metric of this process."""
    return Response(await request.the(Metrics).exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})
