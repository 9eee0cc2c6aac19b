"""Traces: one request through two services and the log, at a collector that speaks OTLP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.runtime.settings import SettingsError
from services.runtime.traces import Traces
from tests.http.serving import served

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """What came in, as it was sent and decoded."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.url = ""

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        found = []
        for body in self.bodies:
            sent = ExportTraceServiceRequest.FromString(body)
            found += [
                span for of in sent.resource_spans for scoped in of.scope_spans for span in scoped.spans
            ]
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            collector.bodies.append(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def said(span: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


async def test_a_request_is_one_trace_through_services_and_log(database):
    with collecting() as collector:
        async with (
            served(database, [engine], traces_url=collector.url) as behind,
            served(database, [lobby], engine_url=behind.url, traces_url=collector.url) as front,
            httpx.AsyncClient(base_url=front.url, timeout=20) as client,
        ):
            guest = (await client.post("/v1/players", json={"name": "Ana"})).json()
            headers = {
                "Authorization": f"Bearer {guest['token']}",
                "Idempotency-Key": "a-key-that-nobody-may-see",
                "traceparent": f"00-{TRACE}-{PARENT}-01",
            }
            opened = await client.post("/v1/tables", json={"game": "dice-race", "seats": 2}, headers=headers)
            assert opened.status_code == 201
            wrong = await client.get("/v1/tables/t_none", headers={"traceparent": "00-zz-zz-zz"})
            assert wrong.status_code == 404
        # All processes have ended: nothing is on its way any more.
        spans = [span for span in collector.spans() if span.trace_id.hex() == TRACE]
        by_name = {span.name: span for span in spans}
        first, append = by_name["POST /v1/tables"], by_name["append"]
        asked, answered = by_name["POST"], by_name["POST /v1/commitments"]
        assert first.parent_span_id.hex() == PARENT
        assert asked.parent_span_id == first.span_id
        assert answered.parent_span_id == asked.span_id
        assert append.parent_span_id == first.span_id
        assert said(append)["macao.stream"] == opened.json()["id"]
        assert said(append)["macao.outcome"] == "appended"
        assert said(first)["macao.request_id"] == opened.headers["X-Request-Id"]
        assert said(first)["http.response.status_code"] == 201
        (lost,) = [span for span in collector.spans() if span.name == "GET /v1/tables/{table_id}"]
        assert said(lost)["macao.table_id"] == "t_none"
        assert lost.parent_span_id == b""  # a traceparent that says nothing begins no trace of its own
        for secret in (guest["token"], guest["refresh_token"], "a-key-that-nobody-may-see", "Ana"):
            assert not any(secret.encode() in body for body in collector.bodies)


async def test_a_collector_that_is_away_disturbs_nobody(database):
    async with (
        served(database, [lobby, engine], traces_url="http://127.0.0.1:9/v1/traces") as site,
        httpx.AsyncClient(base_url=site.url, timeout=20) as client,
    ):
        assert (await client.post("/v1/players", json={"name": "Ana"})).status_code == 201


@pytest.mark.parametrize("url", ["collector:4318", "grpc://collector:4317", "http://", "-"])
def test_a_url_that_cannot_be_used_is_told(url):
    with pytest.raises(SettingsError, match="MACAO_TRACES_URL"):
        Traces(url)
