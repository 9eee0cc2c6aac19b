"""Every write that the documents know is harmless to repeat. A new one needs a scene here, or the test fails."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.runtime.web.idempotency import HEADER, REPLAYED
from tests.api.conftest import Site
from tests.support.up import ROOT


@dataclass
class Scene:
    """A write that can be carried out now, and another one that the same key may not stand for."""

    method: str
    path: str
    body: Any
    token: str | None
    other_path: str | None = None
    other_body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


SCENES: dict[str, Callable[[Site], Awaitable[Scene]]] = {}


def scene(make: Callable[[Site], Awaitable[Scene]]) -> Callable[[Site], Awaitable[Scene]]:
    SCENES[make.__name__] = make
    return make


@scene
async def create_player(site: Site) -> Scene:
    return Scene("POST", "/v1/players", {"name": "Ana"}, None, other_body={"name": "Bo"})


@scene
async def add_credential(site: Site) -> Scene:
    name = f"ana {uuid4().hex[:12]}"
    body = {"name": name, "password": "nine lucky dice"}
    token = (await site.guest())["token"]
    return Scene(
        "POST", "/v1/players/me/credential", body, token, other_body={**body, "password": "ten lucky dice"}
    )


@scene
async def sign_in(site: Site) -> Scene:
    made = await add_credential(site)
    assert made.token is not None
    await site.ask(made.token, "POST", "/players/me/credential", made.body, uuid4().hex)
    return Scene("POST", "/v1/tokens", made.body, None, other_body={**made.body, "password": "no"})


@scene
async def refresh_token(site: Site) -> Scene:
    # The refresh token itself says whose key it is, so another body means another key: only the path is left.
    body = {"refresh_token": (await site.guest())["refresh_token"]}
    return Scene("POST", "/v1/tokens/refresh", body, None)


@scene
async def make_token(site: Site) -> Scene:
    body = {"name": "bot", "scopes": ["play"]}
    token = (await site.guest())["token"]
    return Scene("POST", "/v1/players/me/tokens", body, token, other_body={**body, "name": "other"})


@scene
async def open_table(site: Site) -> Scene:
    body = {"game": "dice-race", "seats": 2}
    return Scene("POST", "/v1/tables", body, (await site.guest())["token"], other_body={**body, "seats": 3})


@scene
async def change_table(site: Site) -> Scene:
    token = (await site.guest())["token"]
    path = f"/v1/tables/{await site.table(token)}"
    return Scene("PATCH", path, {"seats": 3}, token, other_body={"seats": 4})


@scene
async def start_table(site: Site) -> Scene:
    table, host, _ = await site.full_table()
    return Scene("POST", f"/v1/tables/{table}/start", None, host, other_path=f"/v1/tables/{table}/leave")


@scene
async def quick_match(site: Site) -> Scene:
    token = (await site.guest())["token"]
    return Scene("POST", "/v1/quick-match", {"game": "dice-race"}, token, other_body={"game": "dice-bank"})


@scene
async def join_table(site: Site) -> Scene:
    table = await site.table((await site.guest())["token"])
    token = (await site.guest("Bo"))["token"]
    return Scene("POST", f"/v1/tables/{table}/join", {}, token, other_body={"seat": 1})


@scene
async def leave_table(site: Site) -> Scene:
    table, _, other = await site.full_table()
    return Scene("POST", f"/v1/tables/{table}/leave", None, other, other_path=f"/v1/tables/{table}/start")


@scene
async def give_seed(site: Site) -> Scene:
    table, host, _ = await site.full_table()
    return Scene("PUT", f"/v1/tables/{table}/seed", {"seed": "one"}, host, other_body={"seed": "two"})


@scene
async def seat_bot(site: Site) -> Scene:
    token = (await site.guest())["token"]
    path = f"/v1/tables/{await site.table(token)}/bots"
    return Scene("POST", path, {"level": "sharp"}, token, other_body={"level": "casual"})


@scene
async def pass_host(site: Site) -> Scene:
    table, host, _ = await site.full_table()
    seats = (await site.client.get(f"/v1/tables/{table}")).json()["seats"]
    body = {"player": seats[1]["player"]}
    return Scene("POST", f"/v1/tables/{table}/host", body, host, other_body={"player": seats[0]["player"]})


@scene
async def remove_player(site: Site) -> Scene:
    table, host, _ = await site.full_table()
    return Scene(
        "DELETE", f"/v1/tables/{table}/seats/1", None, host, other_path=f"/v1/tables/{table}/seats/0"
    )


@scene
async def make_move(site: Site) -> Scene:
    table, host, other = await site.full_table()
    match = (await site.ask(host, "POST", f"/tables/{table}/start", None, "start"))["match_id"]
    view = (await site.client.get(f"/v1/matches/{match}")).json()
    token = (host, other)[view["turn"]]
    headers = {"If-Match": f'"{view["version"]}"'}
    path = f"/v1/matches/{match}/moves"
    return Scene(
        "POST",
        path,
        {"move": {"type": "roll"}},
        token,
        other_body={"move": {"type": "stand"}},
        headers=headers,
    )


async def dispute(site: Site) -> tuple[str, str]:
    table, host, _ = await site.full_table()
    match = (await site.ask(host, "POST", f"/tables/{table}/start", None, "start"))["match_id"]
    return match, host


@scene
async def open_dispute(site: Site) -> Scene:
    match, host = await dispute(site)
    body = {"version": 1, "complaint": "This is not my seat."}
    return Scene("POST", f"/v1/matches/{match}/disputes", body, host, other_body={**body, "version": 2})


@scene
async def withdraw_dispute(site: Site) -> Scene:
    made = await open_dispute(site)
    opened = await site.client.post(
        made.path, json=made.body, headers={"Authorization": f"Bearer {made.token}", HEADER: "d"}
    )
    return Scene("POST", f"/v1/disputes/{opened.json()['id']}/withdraw", None, made.token, other_body={})


@scene
async def rule_on_dispute(site: Site) -> Scene:
    path = (await withdraw_dispute(site)).path.replace("/withdraw", "/ruling")
    auditor = site.token("audit")
    body = {"verdict": "dismissed", "match": "stands", "reasons": "It was the right seat."}
    return Scene("POST", path, body, auditor, other_body={**body, "reasons": "It was."})


@scene
async def commit(site: Site) -> Scene:
    body = {"game": "dice-race", "seats": 2}
    return Scene(
        "POST", "/v1/commitments", body, site.service_token(), other_body={**body, "game": "dice-bank"}
    )


@scene
async def start_match(site: Site) -> Scene:
    token = site.service_token()
    made = await site.ask(token, "POST", "/commitments", {"game": "dice-race", "seats": 2}, uuid4().hex)
    body = {
        "match_id": made["match_id"], "table_id": "t_1", "game": "dice-race", "options": made["options"],
        "seats": [{"player": "p_1"}, {"player": "p_2"}], "rated": False,
    }  # fmt: skip
    return Scene("POST", "/v1/matches", body, token, other_body={**body, "rated": True})


def writes() -> dict[str, dict[str, Any]]:
    found = {}
    for name in ("engine", "lobby", "projections"):
        document = json.loads((ROOT / "openapi" / f"{name}.json").read_text("utf-8"))
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if method != "get":
                    found[operation["operationId"]] = {"method": method, "path": path, **operation}
    return found


WRITES = writes()
KEYED = {
    name: header["required"]
    for name, operation in WRITES.items()
    for header in operation.get("parameters", ())
    if header["name"] == HEADER
}


KEYLESS = {
    "rebuild_projection": "one that waits or runs already is the one that was asked for",
    "release_projection": "what is not parked is not released",
}
"""Operators' commands that come to the same however often they are sent."""


def test_every_post_takes_a_key() -> None:
    posts = {name for name, operation in WRITES.items() if operation["method"] == "post"}
    without = posts - set(KEYED) - set(KEYLESS)
    assert not without, f"give these operation_class=Keyed and answer retries: {without}"


def test_every_write_with_a_key_has_a_scene() -> None:
    assert set(SCENES) == set(KEYED), "add a scene to tests/api/test_writes.py"


async def send(
    site: Site,
    case: Scene,
    key: str | None,
    *,
    body: Any = ...,
    path: str | None = None,
    method: str | None = None,
) -> httpx.Response:
    headers = dict(case.headers)
    if case.token is not None:
        headers["Authorization"] = f"Bearer {case.token}"
    if key is not None:
        headers[HEADER] = key
    sent = case.body if body is ... else body
    return await site.client.request(method or case.method, path or case.path, json=sent, headers=headers)


@pytest.mark.parametrize("operation", sorted(KEYED))
async def test_a_write_is_harmless_to_repeat(site: Site, operation: str) -> None:
    case = await SCENES[operation](site)
    key = uuid4().hex
    first = await send(site, case, key)
    assert first.is_success, first.text
    assert REPLAYED not in first.headers
    again = await send(site, case, f'"{key}"')
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers.get(REPLAYED) == "true", (
        "the answer to a retry has to carry Idempotent-Replayed: true"
    )
    for name in ("ETag", "Location"):
        assert again.headers.get(name) == first.headers.get(name)
    if case.other_body is not None:
        reused = await send(site, case, key, body=case.other_body)
        assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
    if case.other_path is not None:
        reused = await send(site, case, key, path=case.other_path)
        assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")


@pytest.mark.parametrize("operation", sorted(KEYED))
async def test_a_key_is_asked_for_and_looked_at(site: Site, operation: str) -> None:
    case = await SCENES[operation](site)
    for bad in ("a b", "", "x" * 129):
        refused = await send(site, case, bad)
        assert (refused.status_code, refused.json()["code"]) == (400, "idempotency-key-malformed"), bad
    without = await send(site, case, None)
    if KEYED[operation]:
        assert (without.status_code, without.json()["code"]) == (400, "idempotency-key-missing")
    else:
        assert without.is_success, without.text
