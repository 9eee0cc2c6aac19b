"""Every conditional read that the documents know answers 304 to who holds its tag, in every form that it has."""

import json
from uuid import uuid4

import httpx
import pytest

from tests.api.conftest import Site
from tests.support.up import ROOT


def reads() -> dict[str, str]:
    """Return the path of every read that has an end."""
    found = {}
    for name in ("engine", "lobby", "projections"):
        document = json.loads((ROOT / "openapi" / f"{name}.json").read_text("utf-8"))
        for path, operations in document["paths"].items():
            if (
                "get" in operations
                and "text/event-stream" not in operations["get"]["responses"]["200"]["content"]
            ):
                found[operations["get"]["operationId"]] = path
    return found


READS = reads()


def conditional() -> dict[str, tuple[str, list[str]]]:
    found = {}
    for name in ("engine", "lobby", "projections"):
        document = json.loads((ROOT / "openapi" / f"{name}.json").read_text("utf-8"))
        for path, operations in document["paths"].items():
            responses = operations.get("get", {}).get("responses", {})
            if "304" in responses:
                found[operations["get"]["operationId"]] = path, list(responses["200"]["content"])
    return found


CONDITIONAL = conditional()
QUERIES = {
    "get_match_part": "fields=version,turn",
    "get_state": "at=1",
    "prove_inclusion": "position=1",
    "prove_consistency": "first=1&second=1",
}
WAITS_FOR_THE_SEAL = {"get_checkpoint", "prove_inclusion", "prove_consistency", "get_receipt"}


@pytest.fixture(scope="module")
async def known(site: Site) -> dict[str, str]:
    table, host, _ = await site.full_table()
    match = (await site.ask(host, "POST", f"/tables/{table}/start", None, "start"))["match_id"]
    await site.ask(host, "POST", f"/matches/{match}/moves", {"move": {"type": "leave"}}, uuid4().hex)
    player = (await site.client.get(f"/v1/tables/{table}")).json()["host"]
    return {
        "match_id": match, "table_id": table, "player": player, "game": "dice-race", "code": "not-found",
        "version": "1",
    }  # fmt: skip


async def asked_again(
    site: Site, address: str, headers: dict[str, str], form_of_tag: str, tag: str
) -> httpx.Response:
    """Ask with the tag that was given last: the log may still be moving, and what was held is old by then."""
    for _ in range(20):
        again = await site.client.get(address, headers={**headers, "If-None-Match": form_of_tag.format(tag)})
        if again.headers["ETag"] == tag:
            break
        tag = again.headers["ETag"]
    return again


@pytest.mark.parametrize("operation", sorted(CONDITIONAL))
async def test_who_holds_an_answer_is_told_that_it_still_holds(
    site: Site, known: dict[str, str], operation: str
) -> None:
    path, forms = CONDITIONAL[operation]
    address = path.format_map(known) + (f"?{QUERIES[operation]}" if operation in QUERIES else "")
    for form in forms:
        headers = {"Accept": form}
        first = await site.client.get(address, headers=headers)
        if operation in WAITS_FOR_THE_SEAL and first.status_code == 409:
            assert first.json()["code"] == "not-sealed"
            continue
        if operation == "get_standing" and first.status_code == 404:
            continue  # the leaderboard follows the log in its own time
        assert first.status_code == 200, first.text
        assert first.headers["Content-Type"].partition(";")[0] == form
        assert first.headers["Cache-Control"]
        for form_of_tag in ("{}", '"other", W/{}', "*"):
            again = await asked_again(site, address, headers, form_of_tag, first.headers["ETag"])
            assert (again.status_code, again.content) == (304, b"")
        changed = await site.client.get(address, headers={**headers, "If-None-Match": '"other"'})
        assert changed.status_code == 200


async def test_large_reads_are_compressed_for_who_asks(site: Site) -> None:
    plain = await site.client.get("/v1/games", headers={"Accept-Encoding": "identity"})
    packed = await site.client.get("/v1/games", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < len(plain.content)
    assert packed.content == plain.content
    refused = await site.client.get("/v1/games", headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


@pytest.mark.parametrize(
    ("address", "named", "taken"),
    [
        ("/v1/tables?gmae=dice-race", "'gmae'", "it takes cursor, game, limit, state"),
        ("/v1/games?page=2", "'page'", "it takes none"),
        ("/v1/lobby?game=dice-race&limit=1&limlt=3", "'limlt'", "cursor, game, limit, state"),
    ],
)
async def test_a_query_parameter_that_nobody_knows_is_refused(
    site: Site, address: str, named: str, taken: str
) -> None:
    refused = await site.client.get(address)
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed-request")
    assert named in refused.json()["detail"]
    assert taken in refused.json()["detail"]


async def test_a_move_with_a_query_is_refused_as_any_other_request(site: Site, known: dict[str, str]) -> None:
    refused = await site.client.post(f"/v1/matches/{known['match_id']}/moves?match_id=x", json={"move": {}})
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed-request")
    assert "it takes none" in refused.json()["detail"]


VARYING = {"x-request-id", "ratelimit", "content-length", "etag"}
"""What one answer need not have in common with the next: some reads tell the time."""


@pytest.mark.parametrize("operation", sorted(READS))
async def test_a_head_is_that_of_the_answer(site: Site, known: dict[str, str], operation: str) -> None:
    names = {**known, "projection": "board", "dispute_id": "d_1", "version": "1", "position": "1"}
    address = READS[operation].format_map(names) + (f"?{QUERIES[operation]}" if operation in QUERIES else "")
    for encoding in ("identity", "gzip"):
        asked = {"Accept-Encoding": encoding}
        whole = await site.client.get(address, headers=asked)
        head = await site.client.head(address, headers=asked)
        assert (head.status_code, head.content) == (whole.status_code, b"")
        assert set(head.headers) == set(whole.headers)
        for name in set(whole.headers) - VARYING:
            assert head.headers[name] == whole.headers[name], name


async def test_a_head_has_tag_and_length_and_knows_what_is_held(site: Site) -> None:
    for address in ("/v1/games", "/v1/games/dice-race", "/problems/not-found", "/problems", "/health/live"):
        whole, head = await site.client.get(address), await site.client.head(address)
        assert head.headers["Content-Length"] == whole.headers["Content-Length"]
        assert head.headers.get("ETag") == whole.headers.get("ETag")
    held = await site.client.head("/v1/games", headers={"If-None-Match": whole.headers.get("ETag", "*")})
    assert (held.status_code, held.content) == (304, b"")


async def test_where_nothing_is_read_there_is_no_head(site: Site) -> None:
    refused = await site.client.head("/v1/quick-match")
    assert (refused.status_code, refused.headers["Allow"], refused.content) == (405, "POST", b"")
    refused = await site.client.put("/v1/games")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")


async def test_heads_are_counted_as_such(site: Site) -> None:
    await site.client.head("/v1/games")
    counted = (await site.client.get("/metrics")).text
    assert 'macao_http_requests_total{method="HEAD",route="/v1/games",status="200"}' in counted
