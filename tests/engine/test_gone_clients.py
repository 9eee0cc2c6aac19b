"""A client that leaves while it is still sending."""

import logging

from tests.engine.conftest import Engine


async def test_who_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(engine: Engine, caplog):
    token = engine.platform.tokens.access_token("lobby", frozenset({"service"}))
    messages = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/v1/commitments", "raw_path": b"/v1/commitments", "query_string": b"", "root_path": "",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"50"),
            (b"authorization", b"Bearer " + token.encode()), (b"idempotency-key", b"k" * 24)],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip
    with caplog.at_level(logging.ERROR):
        await engine.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert not caplog.records
