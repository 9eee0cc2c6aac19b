"""Traces: the course of a request through services and log, for a collector that speaks OTLP.

With ``MACAO_TRACES_URL``, each request is a span under the caller's ``traceparent``, the question of one service to
another is a span that the other continues, and so is each append to the log. Spans name ids of requests, streams and
commands; never a body, a header, a token or a query. Without it, nothing is made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from services.runtime.settings import SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

CLOSE_SECONDS: Final = 5.0
"""How long the last spans may take to be sent when the process ends."""

TRACEPARENT: Final = "traceparent"
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_logger: Final = logging.getLogger(__name__)


class Traces:
    """Makes the spans of one process and sends them, many at a time, from a thread of its own.

    OpenTelemetry's own variables hold as well: ``OTEL_TRACES_SAMPLER``, ``OTEL_EXPORTER_OTLP_HEADERS``,
    ``OTEL_SERVICE_NAME``.

    Args:
        url: where spans go, as ``http://collector:4318/v1/traces``.

    Raises:
        SettingsError: it is no such URL.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                "MACAO_TRACES_URL cannot be used: it has to be like http://collector:4318/v1/traces"
            )
        self._provider = _provider(url)
        self._tracer = self._provider.get_tracer("macao")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Send what is left; a collector that does not answer is not waited for."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.to_thread(self._provider.force_flush, int(CLOSE_SECONDS * 1000))
        except TimeoutError:
            _logger.warning("the last traces could not be sent")
        await asyncio.to_thread(self._provider.shutdown)

    @contextmanager
    def answering(self, name: str, traceparent: str | None, said: Mapping[str, str]) -> Iterator[Span]:
        """Open the span of a request, as a part of the trace that its sender names."""
        carrier = {} if traceparent is None else {TRACEPARENT: traceparent}
        context = _PROPAGATOR.extract(carrier)
        with self._tracer.start_as_current_span(name, context, SpanKind.SERVER, said) as span:
            yield span

    @contextmanager
    def asking(self, name: str, headers: dict[str, str], said: Mapping[str, str]) -> Iterator[Span]:
        """Open the span of a question to another service, and add to its headers what the other goes on from."""
        with self._tracer.start_as_current_span(name, kind=SpanKind.CLIENT, attributes=said) as span:
            _PROPAGATOR.inject(headers)
            yield span

    @contextmanager
    def doing(self, name: str, said: Mapping[str, str | int]) -> Iterator[Span]:
        """Open the span of something that takes its time."""
        with self._tracer.start_as_current_span(name, attributes=said) as span:
            yield span


def _provider(url: str) -> TracerProvider:
    # A third of a second of imports, for those alone who collect traces.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = Resource({SERVICE_NAME: "macao"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    return provider
