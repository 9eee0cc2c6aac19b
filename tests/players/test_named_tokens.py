"""Named tokens: shown once, good for what they were made for, gone when they are revoked."""

import asyncio

import asyncpg
import pytest

from services.runtime.tokens.named import DAY_MS, NAMED_MAX
from tests.players.conftest import PASSWORD, bearer, key


async def make(person, name="bot", scopes=("play",), days=30, **headers):
    body = {"name": name, "scopes": list(scopes), "days": days}
    return await person.ask("POST", "/players/me/tokens", body, **headers)


async def test_a_named_token_plays_for_its_player_and_is_shown_once(site):
    ana = await site.guest()
    made = await make(ana, "my bot")
    assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")
    token = made.json()["token"]
    assert (await site.whoami(token)).json() == {"player": ana.id, "scopes": ["play"]}
    listed = (await ana.ask("GET", "/players/me/tokens")).json()
    shown = {name: value for name, value in made.json().items() if name != "token"}
    assert listed == {"items": [shown], "next": None}
    assert shown["expires_at_ms"] - shown["created_at_ms"] == 30 * DAY_MS


async def test_it_outlasts_the_session_and_ends_by_itself(site):
    ana = await site.guest()
    token = (await make(ana, days=30)).json()["token"]
    assert (await ana.ask("DELETE", "/tokens/current")).status_code == 204
    site.clock.forward_ms = 29 * DAY_MS
    assert (await site.whoami(token)).status_code == 200
    site.clock.forward_ms = 30 * DAY_MS
    assert (await site.whoami(token)).status_code == 401


async def test_it_is_good_for_no_more_than_its_maker(site):
    ana = await site.guest()
    answer = await make(ana, scopes=["play", "operate"])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert answer.json()["params"] == {"scope": "operate"}
    assert (await make(ana, scopes=["service"])).json()["code"] == "malformed-request"
    assert (await make(ana, scopes=[])).json()["code"] == "malformed-request"
    assert (await make(ana, name="a\x00b")).json()["code"] == "malformed-request"
    assert (await make(ana, days=0)).json()["code"] == "malformed-request"


async def test_it_cannot_take_the_account(site):
    ana = await site.account("Ana")
    token = (await make(ana)).json()["token"]
    for method, path, body in (
        ("PUT", "/players/me/password", {"current": PASSWORD, "password": "new horse 8"}),
        ("POST", "/players/me/tokens", {"name": "another", "scopes": ["play"]}),
        ("GET", "/players/me/tokens", None),
    ):
        answer = await site.client.request(method, f"/v1{path}", json=body, headers=bearer(token))
        assert (answer.status_code, answer.json()["code"]) == (403, "sign-in-needed")


async def test_revoked_it_is_refused_and_gone_from_the_list(site):
    ana, ben = await site.guest(), await site.guest()
    first, second = (await make(ana, "one")).json(), (await make(ana, "two")).json()
    assert (await ben.ask("DELETE", f"/players/me/tokens/{first['id']}")).status_code == 404
    assert (await site.whoami(first["token"])).status_code == 200
    assert (await ana.ask("DELETE", f"/players/me/tokens/{first['id']}")).status_code == 204
    assert (await ana.ask("DELETE", f"/players/me/tokens/{first['id']}")).status_code == 404
    assert (await ana.ask("DELETE", "/players/me/tokens/n_%00")).status_code == 404
    assert (await site.whoami(first["token"])).json()["detail"] == "The token has been revoked."
    assert (await site.whoami(second["token"])).status_code == 200
    assert [item["name"] for item in (await ana.ask("GET", "/players/me/tokens")).json()["items"]] == ["two"]


async def test_it_revokes_itself_by_logging_out_and_leaves_the_session(site):
    ana = await site.guest()
    token = (await make(ana)).json()["token"]
    assert (await site.client.delete("/v1/tokens/current", headers=bearer(token))).status_code == 204
    assert (await site.whoami(token)).status_code == 401
    assert (await site.whoami(ana.token)).status_code == 200
    assert (await ana.ask("GET", "/players/me/tokens")).json()["items"] == []


@pytest.mark.parametrize("end_tokens", [False, True])
async def test_a_changed_password_ends_it_on_request(site, end_tokens):
    ana = await site.account("Ana")
    token = (await make(ana)).json()["token"]
    body = {"current": PASSWORD, "password": "new horse 8", "end_tokens": end_tokens}
    assert (await ana.ask("PUT", "/players/me/password", body)).status_code == 204
    assert (await site.whoami(token)).status_code == (401 if end_tokens else 200)


async def test_there_are_so_many_and_no_more_however_they_are_asked_for(site, monkeypatch):
    monkeypatch.setattr("services.runtime.tokens.named.NAMED_MAX", 5)
    ana = await site.guest()
    answers = await asyncio.gather(*(make(ana, f"bot {number}") for number in range(9)))
    assert sorted(answer.status_code for answer in answers) == [*[201] * 5, *[409] * 4]
    assert {answer.json().get("code") for answer in answers} == {None, "too-many-tokens"}
    assert NAMED_MAX == 50
    site.clock.forward_ms = 31 * DAY_MS  # what has expired makes room; the session has not, so to speak
    ana.token = (await ana.refresh()).json()["token"]
    assert (await make(ana)).status_code == 201


async def test_a_retry_makes_no_second_one(site):
    ana = await site.guest()
    headers = key()
    answers = await asyncio.gather(*(make(ana, **headers) for _ in range(3)))
    assert len({answer.text for answer in answers}) == 1
    assert len((await ana.ask("GET", "/players/me/tokens")).json()["items"]) == 1


async def test_it_lies_nowhere_in_the_database(site, database):
    ana = await site.guest()
    token = (await make(ana, **key())).json()["token"]
    connection = await asyncpg.connect(database)
    for table in ("named_tokens", "answers"):
        rows = await connection.fetch(f"SELECT t::text AS it FROM macao_runtime.{table} AS t")
        assert rows
        assert not any(token in row["it"] or token.encode().hex() in row["it"] for row in rows)
    await connection.close()
