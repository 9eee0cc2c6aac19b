"""Bytes that are no request, heads without an end, and clients of HTTP/1.0, over a real server."""

import asyncio
import json
import re

import pytest
import pytest_asyncio

from services.runtime.web import protocol
from tests.http.demo import demo, write
from tests.http.serving import served

POST = b"POST /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(databases):
    async with databases.fresh() as database, served(database, [demo]) as running:
        yield running


async def asked(site, *parts: bytes, pause_seconds: float = 0.0) -> bytes:
    """Send bytes, and return everything that comes until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    try:
        async with asyncio.timeout(5):
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause_seconds)
            return await reader.read()
    finally:
        writer.transport.abort()


def problem_in(answer: bytes) -> dict:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    problem = json.loads(body)
    assert f"x-request-id: {problem['request_id']}".encode() in head
    assert b"\r\nconnection: close" in head
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return problem


@pytest.mark.parametrize(
    ("sent", "detail"),
    [
        (b"FOO /v1/things HTTP/1.1\r\nHost: x\r\n\r\n", "method"),
        (b"GET\x00/v1/things HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1"),
        (b"get /v1/things HTTP/1.1\r\nHost: x\r\n\r\n", "method"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "method"),
        (b"GET /v1/things HTTP/9.9\r\nHost: x\r\n\r\n", "HTTP/1.1"),
        (b"GET /v1/things\xff HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1"),
        (b"GET /v1/things HTTP/1.1\r\nHost : x\r\n\r\n", "HTTP/1.1"),
        (b"GET /v1/things HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1"),
        (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "HTTP/1.1"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1"),
        (POST + b"Content-Length: -1\r\n\r\n", "HTTP/1.1"),
    ],
)
async def test_what_is_no_request_is_a_problem(site, sent, detail):
    problem = problem_in(await asked(site, sent))
    assert (problem["status"], problem["code"]) == (400, "malformed-request")
    assert detail in problem["detail"]


@pytest.mark.parametrize("method", ["PATCH", "PROPFIND", "TRACE", "PURGE", "DELETE"])
async def test_a_method_that_a_path_does_not_know_is_told_which_it_knows(site, method):
    refused = await asked(
        site, b"%b /v1/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % method.encode()
    )
    assert problem_in(refused)["code"] == "method-not-allowed"
    assert b"\r\nallow: GET, HEAD\r\n" in refused


async def test_what_was_asked_before_the_garbage_is_answered_and_nothing_behind_it(site):
    answer = await asked(site, POST + b'Content-Length: 11\r\n\r\n{"seat": 1}}GET / HTTP/1.1\r\n\r\n')
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_garbage_in_a_stream_does_not_get_into_what_it_tells(site):
    await write(site.platform.log, "t_garbage", 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(b"GET /v1/follow/t_garbage HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        await reader.readuntil(b"event: snapshot\n")
        for _ in range(3):
            writer.write(b"\x00\x01garbage\r\n\r\n")
            await writer.drain()
        await write(site.platform.log, "t_garbage", 1)
        told = await reader.readuntil(b"event: event\n")
    writer.transport.abort()
    assert b"HTTP/1.1" not in told


@pytest.mark.parametrize(
    "part", [b"X-More: " + b"y" * 8_000 + b"\r\n", b"z" * 8_000], ids=["many headers", "one header"]
)
async def test_a_head_without_an_end_is_refused(site, part):
    problem = problem_in(
        await asked(site, b"GET /v1/things HTTP/1.1\r\nX: ", *[part] * 9, pause_seconds=0.02)
    )
    assert (problem["status"], problem["code"]) == (431, "head-too-large")


async def test_trailers_without_an_end_are_not_heard_for_ever(site, monkeypatch):
    monkeypatch.setattr(protocol, "MESSAGE_SIZE_MAX", 100_000)
    head = POST + b"Transfer-Encoding: chunked\r\n\r\nb\r\n" + b'{"seat": 1}\r\n0\r\nX: '
    problem = problem_in(await asked(site, head, *[b"z" * 8_000] * 30, pause_seconds=0.002))
    assert (problem["status"], problem["code"]) == (413, "body-too-large")


@pytest.mark.parametrize(
    "begun", [b"", b"GET /v1/thi", b"GET /v1/things HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/thi"]
)
async def test_a_head_that_does_not_come_ends_the_connection(site, monkeypatch, begun):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    answer = await asked(site, begun)
    assert answer.count(b"HTTP/1.1 200 ") == begun.count(b"\r\n\r\n")


async def test_many_requests_at_once_are_answered_in_order(site):
    sent = b"".join(
        b"GET /v1/things?limit=%d HTTP/1.1\r\nHost: x\r\n\r\n" % (1 + i % 9) for i in range(3_000)
    )
    last = b"GET /v1/things?limit=10 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = await asked(site, sent + last)
    assert [int(found) for found in re.findall(rb'"seat":(\d+)', answer)] == [
        *(1 + i % 9 for i in range(3_000)),
        10,
    ]


async def test_a_stream_for_http_1_0_has_no_chunks_and_ends_with_the_connection(site):
    await write(site.platform.log, "t_old", 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(b"GET /v1/follow/t_old HTTP/1.0\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b"transfer-encoding" not in head
        assert b"\r\nconnection: close" in head
        told = await reader.readuntil(b"\n\n") + await reader.readuntil(b"\n\n")
        assert told.startswith(b"retry: 1000\n\nevent: snapshot\nid: 1\n")
        for version in (2, 3, 4):
            await write(site.platform.log, "t_old", 1)
            told = await reader.readuntil(b"\n\n")
            assert told.startswith(b"event: event\nid: %d\ndata: {" % version)
    writer.transport.abort()


async def test_a_plain_answer_for_http_1_0_is_as_long_as_it_says(site):
    for path, status in ((b"/v1/things", 200), (b"/v1/none", 404), (b"/metrics", 200)):
        head, _, body = (await asked(site, b"GET %b HTTP/1.0\r\n\r\n" % path)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"content-length: %d" % len(body) in head


async def test_a_trailer_is_no_header(site):
    chunked = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nb\r\n" + b'{"seat": 1}\r\n0\r\n'
    head = b"POST /v1/things/a HTTP/1.1\r\nHost: x\r\n"
    refused = await asked(site, head + chunked + b"Content-Type: application/json\r\n\r\n")
    assert problem_in(refused)["code"] == "unsupported-media-type"
    assert (await asked(site, POST + chunked + b"Content-Type: text/plain\r\n\r\n")).startswith(
        b"HTTP/1.1 200 "
    )


async def test_another_protocol_is_not_changed_to(site):
    wish = b"Host: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    answer = await asked(site, b"GET /v1/things HTTP/1.1\r\n" + wish + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ") and b"connection: close" in answer
    body = b'Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{"seat": 1}'
    refused = problem_in(await asked(site, b"POST /v1/things/a HTTP/1.1\r\n" + wish + body))
    assert (refused["code"], "Upgrade" in refused["detail"]) == ("malformed-request", True)


@pytest.mark.parametrize(
    "key", [b"", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"]
)
async def test_a_body_that_would_open_a_websocket_is_refused_at_once(site, key):
    wish = b"Connection: Upgrade\r\nUpgrade: websocket\r\n" + key
    refused = problem_in(await asked(site, POST + wish + b'Content-Length: 11\r\n\r\n{"seat": 1}'))
    assert (refused["code"], "Upgrade" in refused["detail"]) == ("malformed-request", True)


async def test_garbage_between_requests_leaves_no_error_behind(site, caplog):
    one = POST + b'Content-Length: 11\r\n\r\n{"seat": 1}'
    for sent in (one + b"FOO / HTTP/1.1\r\n\r\n" + one, one + one + b"FOO / HTTP/1.1\r\n\r\n" + one):
        answer = await asked(site, sent)
        assert answer.startswith(b"HTTP/1.1 200 ")
    await asyncio.sleep(0.1)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_large_head_is_refused_however_it_comes(site):
    problem = problem_in(await asked(site, b"GET /v1/things HTTP/1.1\r\n" + b"X: y\r\n" * 12_000 + b"\r\n"))
    assert (problem["status"], problem["code"]) == (431, "head-too-large")
