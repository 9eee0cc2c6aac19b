"""Whatever a client sends, the answer is a problem with a code of the catalogue, and never a 500."""

import json
import logging

import asyncpg
import pytest

from services.contracts.problems import PROBLEMS
from tests.http.demo import AWAY, Boom

JSON = {"Content-Type": "application/json"}
GOOD = b'{"seat": 1}'

BAD = [
    # method, path, body, headers, code
    ("GET", "/nowhere", None, {}, "not-found"),
    ("GET", "/v1/things/", None, {}, None),
    ("GET", "/schema/nowhere", None, {}, "not-found"),
    ("GET", "/v1/%00%ff%zz", None, {}, "not-found"),
    ("PUT", "/v1/things", None, {}, "method-not-allowed"),
    ("BREW", "/v1/things", None, {}, "method-not-allowed"),
    ("POST", "/v1/things/a", b"{", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b"", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b"null", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b"[]", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b"{}", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": "1"}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1.5}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": true}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 10}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": ' + b"9" * 5000 + b"}", JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1, "sea": 2}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1, "kind": "\xff"}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1, "kind": "\\ud800"}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b"[" * 60_000, JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1, "kind": "' + b"x" * 70_000 + b'"}', JSON, "body-too-large"),
    ("POST", "/v1/things/a", GOOD, {"Content-Type": "text/plain"}, "unsupported-media-type"),
    ("POST", "/v1/things/a", GOOD, {"Content-Type": "multipart/form-data"}, "unsupported-media-type"),
    ("POST", "/v1/things/a", GOOD, {"Content-Type": "\xff;;=/"}, "unsupported-media-type"),
    ("POST", "/v1/things/a", GOOD, {}, "unsupported-media-type"),
    (
        "POST",
        "/v1/things/a",
        GOOD,
        {"Content-Type": "application/json; charset=latin1"},
        "unsupported-media-type",
    ),
    (
        "POST",
        "/v1/things/a",
        GOOD,
        {"Content-Type": 'application/json;x=1;Charset = "UTF-16"'},
        "unsupported-media-type",
    ),
    ("POST", "/v1/things/a", GOOD, {**JSON, "Content-Encoding": "gzip"}, "unsupported-media-type"),
    ("POST", "/v1/things/a", GOOD, {**JSON, "Content-Encoding": "identity, br"}, "unsupported-media-type"),
    ("POST", "/v1/things/a", b'{"seat": 1, "seat": 2}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", b'{"seat": 1, "se\\u0061t": 1}', JSON, "malformed-request"),
    ("POST", "/v1/things/a", GOOD, {**JSON, "Content-Length": "many"}, "malformed-request"),
    ("GET", "/v1/things?limit=x", None, {}, "malformed-request"),
    ("GET", "/v1/things?limit=11", None, {}, "malformed-request"),
    ("GET", "/v1/things?limit=1&limit=2", None, {}, "malformed-request"),
    ("GET", "/v1/things?limit=1&limit=1", None, {}, "malformed-request"),
    ("GET", "/v1/things?limit=1&%6cimit=2", None, {}, "malformed-request"),
    ("GET", "/v1/things?limit=%ff", None, {}, "malformed-request"),
    ("GET", "/v1/things?" + "a=1&" * 2000, None, {}, None),
    ("GET", "/v1/things", None, {"Cookie": "\xff=\x7f;;;"}, None),
    ("GET", "/v1/things", None, {"Host": "a b"}, "malformed-request"),
    ("GET", "/v1/whoami", None, {"Authorization": "Basic abc"}, "unauthenticated"),
    ("GET", "/v1/whoami", None, {"Authorization": "Bearer"}, "unauthenticated"),
    ("GET", "/v1/whoami", None, {"Authorization": "Bearer \xff\xfe"}, "unauthenticated"),
    ("GET", "/v1/whoami", None, {"Authorization": "Bearer a.b.c"}, "unauthenticated"),
    ("GET", "/v1/whoami", None, {"Authorization": "Bearer " + "e" * 5000}, "unauthenticated"),
    ("POST", "/v1/guarded", None, {}, "unauthenticated"),
    ("GET", "/v1/follow/t_none", None, {}, "not-found"),
    ("GET", "/v1/follow/t_none?after=-1", None, {}, "malformed-request"),
    ("GET", "/v1/follow/t_none", None, {"Last-Event-ID": "x"}, "malformed-request"),
    ("GET", "/v1/follow/t_none", None, {"Last-Event-ID": "9" * 4000}, "malformed-request"),
    ("GET", "/v1/follow/t_none", None, {"Last-Event-ID": "0" * 5000}, "malformed-request"),
]


@pytest.mark.parametrize(("method", "path", "body", "headers", "code"), BAD)
async def test_what_cannot_be_read_is_a_problem(demo_app, method, path, body, headers, code):
    raw = [(name, value.encode("latin-1")) for name, value in headers.items()]
    response = await demo_app.client.request(method, path, content=body, headers=raw)
    assert response.status_code < 500, response.text
    assert len(response.headers["X-Request-Id"]) >= 8
    if code is None:
        return
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    kind = PROBLEMS[code]
    assert (problem["code"], problem["status"], problem["title"]) == (code, kind.status, kind.title)
    assert response.status_code == kind.status
    assert problem["type"] == f"/problems/{code}"
    assert problem["detail"]
    assert problem["request_id"] == response.headers["X-Request-Id"]


async def test_the_place_of_a_fault_is_named(demo_app):
    response = await demo_app.client.post("/v1/things/a", json={"seat": "1"})
    assert response.json()["params"] == {"at": "$.seat"}
    assert "int" in response.json()["detail"]


async def test_the_allow_header_lists_the_methods(demo_app):
    response = await demo_app.client.delete("/v1/things/a")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


async def test_a_refusal_carries_clause_params_and_legal(demo_app):
    problem = (await demo_app.client.get("/v1/refused")).json()
    assert problem["clause"] == "DR-4.2"
    assert problem["params"] == {"min": 2, "max": 5}
    assert problem["legal"] == [{"a": 1}]
    assert problem["instance"] == "/v1/refused"


async def test_our_own_fault_is_logged_and_not_told(demo_app, caplog):
    response = await demo_app.client.get("/v1/boom", headers={"X-Request-Id": "trace-00001"})
    assert (response.status_code, response.json()["code"]) == (500, "internal-error")
    assert "hunter2" not in response.text and "KeyError" not in response.text
    record = next(item for item in caplog.records if item.levelno == logging.ERROR)
    assert record.told == {"request_id": "trace-00001"}
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("error", AWAY[:-1], ids=repr)
async def test_a_database_that_is_away_is_a_matter_of_trying_again(demo_app, error):
    demo_app.app.state["provided"][Boom].error = error
    response = await demo_app.client.get("/v1/boom")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert response.headers["Retry-After"] == "1"
    assert "10.1.2.3" not in response.text


@pytest.mark.parametrize("value", ["$1::bigint", "$1::text"])
async def test_a_value_that_postgresql_cannot_hold_is_the_clients_fault(demo_app, value):
    sent = 2**63 if "bigint" in value else "a\0b"
    with pytest.raises(asyncpg.DataError) as caught:
        await demo_app.platform.database.pool.fetchval(f"SELECT {value}", sent)
    demo_app.app.state["provided"][Boom].error = caught.value
    response = await demo_app.client.get("/v1/boom")
    assert (response.status_code, response.json()["code"]) == (400, "malformed-request")


async def test_every_problem_has_the_page_that_its_type_points_to(demo_app):
    listed = (await demo_app.client.get("/problems")).json()
    assert [item["code"] for item in listed] == list(PROBLEMS)
    for item in listed:
        page = await demo_app.client.get(f"/problems/{item['code']}")
        assert json.loads(page.text) == item


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("client-chosen-1", True),
        ("short", False),
        ("x" * 65, False),
        ('bad"quote-1', False),
        ("new\tline-1234", False),
    ],
)
async def test_request_ids_are_taken_over_where_they_are_sane(demo_app, sent, kept):
    response = await demo_app.client.get("/health/live", headers={"X-Request-Id": sent})
    assert (response.headers["X-Request-Id"] == sent) is kept


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (b'{"seat": 1, "kind": "seat"}', JSON),
        (b'{"seat": 1, "kind": "a\\"seat\\":"}', JSON),
        (b'{"seat": 1.0, "kind": "kind"}', JSON),
        (GOOD, {"Content-Type": "application/json;charset=utf-8"}),
        (GOOD, {"Content-Type": 'Application/JSON; charset="UTF-8"; version=1'}),
        (GOOD, {**JSON, "Content-Encoding": "Identity"}),
    ],
)
async def test_what_only_looks_odd_is_taken(demo_app, sent, headers):
    response = await demo_app.client.post("/v1/things/a", content=sent, headers=headers)
    assert (response.status_code, response.json()["seat"]) == (200, 1)


@pytest.mark.parametrize(
    ("method", "path", "sent", "headers", "told"),
    [
        ("GET", "/v1/things?limit=1&limit=1", None, {}, "'limit' is given 2 times"),
        ("POST", "/v1/things/a", b'{"seat": 1, "seat": 2}', JSON, "The key 'seat' stands twice"),
        (
            "POST",
            "/v1/things/a",
            GOOD,
            {**JSON, "Content-Encoding": "gzip"},
            "Content-Encoding of the body is 'gzip'",
        ),
        (
            "POST",
            "/v1/things/a",
            GOOD,
            {"Content-Type": "application/json; charset=latin1"},
            "'latin1': JSON",
        ),
    ],
)
async def test_a_refusal_says_what_was_wrong(demo_app, method, path, sent, headers, told):
    response = await demo_app.client.request(method, path, content=sent, headers=headers)
    assert told in response.json()["detail"]
