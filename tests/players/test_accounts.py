"""From guest to account, and back in with name and password."""

import asyncio
import threading
import time

import asyncpg
import pytest
from argon2 import PasswordHasher, extract_parameters

from services.lobby.players import passwords
from services.lobby.players.passwords import fault_of
from tests.players.conftest import PASSWORD, Person, bearer, key


async def test_a_guest_becomes_an_account_and_stays_who_they_are(site):
    ana = await site.guest("Visitor")
    answer = await ana.become("  Ștefan ")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    assert answer.json() == {"id": ana.id, "name": "Ștefan", "kind": "account"}
    assert (await ana.ask("GET", "/players/me")).json() == answer.json()
    assert dict(await site.platform.players.names_of([ana.id])) == {ana.id: "Ștefan"}
    back = await site.sign_in("stefan")
    assert back.status_code == 200
    assert back.headers["Cache-Control"] == "no-store"
    assert back.json()["player"] == answer.json()
    again = Person(site.client, back.json())
    assert (await again.ask("GET", "/players/me")).json()["id"] == ana.id
    assert (await again.refresh()).status_code == 200


async def test_a_name_that_was_shown_before_is_shown_anew_in_this_process(site):
    ana = await site.guest("Before")
    assert dict(await site.platform.players.names_of([ana.id])) == {ana.id: "Before"}
    await ana.become("Afterwards")
    assert dict(await site.platform.players.names_of([ana.id])) == {ana.id: "Afterwards"}


async def test_no_two_accounts_have_names_that_look_alike(site):
    await site.account("Ana Maria")
    other = await site.guest()
    answer = await other.become("ANÀ_MARIA")
    assert (answer.status_code, answer.json()["code"]) == (409, "name-taken")
    assert (await other.ask("GET", "/players/me")).json()["kind"] == "guest"
    assert (await other.become("Ana Marius")).status_code == 201


async def test_of_many_who_ask_for_one_name_at_once_one_gets_it(site):
    guests = [await site.guest() for _ in range(6)]
    names = ["Wanted", "wanted", "WANTED", "Wan_ted", "Wánted", "VVanted"]
    answers = await asyncio.gather(*(guest.become(name) for guest, name in zip(guests, names, strict=True)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 5]
    kinds = [(await guest.ask("GET", "/players/me")).json()["kind"] for guest in guests]
    assert sorted(kinds) == ["account", *["guest"] * 5]


async def test_a_guest_who_asks_twice_at_once_is_one_account(site):
    ana = await site.guest()
    answers = await asyncio.gather(ana.become("First"), ana.become("Second"))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert {answer.json().get("code") for answer in answers} == {None, "already-account"}


async def test_a_retry_under_one_key_gets_the_first_answer(site):
    ana = await site.guest()
    body, headers = {"name": "Once", "password": PASSWORD}, key()
    answers = await asyncio.gather(
        *(ana.ask("POST", "/players/me/credential", body, **headers) for _ in range(4))
    )
    assert {(answer.status_code, answer.text) for answer in answers} == {(201, answers[0].text)}
    assert sorted(answer.headers.get("Idempotent-Replayed", "") for answer in answers) == ["", *["true"] * 3]
    other = await ana.ask("POST", "/players/me/credential", {**body, "password": "another-one"}, **headers)
    assert other.json()["code"] == "idempotency-key-reused"


@pytest.mark.parametrize(
    ("body", "code", "rule"),
    [
        ({"name": "1st", "password": PASSWORD}, "name-invalid", "beginning"),
        ({"name": "Root", "password": PASSWORD}, "name-invalid", "reserved"),
        ({"name": "Good", "password": "short"}, "password-invalid", "length"),
        ({"name": "Good", "password": "x" * 257}, "password-invalid", "length"),
        ({"name": "Good", "password": "Password123"}, "password-invalid", "common"),
        ({"name": "Good", "password": "aaaaaaaaaa"}, "password-invalid", "common"),
        ({"name": "Longish Name", "password": "longish-name"}, "password-invalid", "name"),
        ({"name": "Good"}, "malformed-request", None),
        ({"name": "Good", "password": 12345678}, "malformed-request", None),
    ],
)
async def test_what_cannot_be_is_refused_with_the_rule(site, body, code, rule):
    ana = await site.guest()
    answer = await ana.ask("POST", "/players/me/credential", body)
    assert answer.json()["code"] == code
    assert answer.json().get("params", {}).get("rule") == rule


def test_a_password_may_be_any_sentence_in_any_script():
    for password in (PASSWORD, "лошадь и скрепка", "  spaces  count  ", "🐎" * 3 + "🔋" * 3 + "🖇️🖇️"):
        assert fault_of(password, "Ana") is None


async def test_the_same_password_typed_on_another_keyboard_is_the_same(site):
    await site.account("Zoe", "cafe\u0301 cafe\u0301 1")
    assert (await site.sign_in("Zoe", "caf\u00e9 caf\u00e9 1")).status_code == 200


async def test_a_wrong_password_and_an_unknown_name_are_refused_in_the_same_words(site):
    await site.account("Known")
    answers = [
        await site.sign_in(name, password)
        for name, password in (("Known", "wrong horse 7"), ("Unknown", PASSWORD), ("", ""), ("a\0b", "\0"))
    ]
    assert {answer.status_code for answer in answers} == {401}
    told = [{**answer.json(), "request_id": ""} for answer in answers]
    assert all(one == told[0] for one in told)
    assert told[0]["code"] == "credentials-wrong"


async def test_a_guests_name_signs_nobody_in(site):
    await site.guest("Visitor")
    assert (await site.sign_in("Visitor")).json()["code"] == "credentials-wrong"


async def test_an_unknown_name_costs_the_same_work_and_in_a_thread_apart(site, monkeypatch):
    await site.account("Known")
    work = []
    verify = PasswordHasher.verify

    def noted(self, stored, password):
        work.append((extract_parameters(stored), password, threading.current_thread().name.partition("_")[0]))
        return verify(self, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", noted)
    for name in ("Known", "Unknown"):
        assert (await site.sign_in(name, "wrong horse 7")).status_code == 401
    assert work == [(passwords.PARAMETERS, "wrong horse 7", "argon2")] * 2


async def test_a_password_that_fits_the_decoy_signs_nobody_in(site):
    assert (await site.sign_in("Unknown", "nobody has this password")).status_code == 401


async def test_too_many_who_wait_for_a_hash_are_told_to_come_back(site, monkeypatch):
    monkeypatch.setattr(passwords, "WAITING_MAX", 2)
    verify = PasswordHasher.verify
    monkeypatch.setattr(PasswordHasher, "verify", lambda *said: time.sleep(0.3) or verify(*said))
    answers = await asyncio.gather(*(site.sign_in("Nobody Here", PASSWORD) for _ in range(6)))
    assert {answer.status_code for answer in answers} == {401, 503}


async def test_a_hash_of_old_parameters_is_renewed_at_the_next_sign_in(site, database):
    ana = await site.account("Ana")
    old = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(PASSWORD)
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE macao_runtime.credentials SET password_hash = $1", old)
    answers = await asyncio.gather(*(site.sign_in("Ana") for _ in range(3)))
    assert {answer.status_code for answer in answers} == {200}
    renewed = await connection.fetchval(
        "SELECT password_hash FROM macao_runtime.credentials WHERE player = $1", ana.id
    )
    await connection.close()
    assert extract_parameters(renewed) == passwords.PARAMETERS
    assert (await site.sign_in("Ana")).status_code == 200


async def test_a_changed_password_ends_the_other_sessions(site):
    ana = await site.account("Ana")
    others = [Person(site.client, (await site.sign_in("Ana")).json()) for _ in range(2)]
    answer = await ana.ask("PUT", "/players/me/password", {"current": PASSWORD, "password": "new horse 8"})
    assert answer.status_code == 204
    assert (await ana.ask("GET", "/players/me")).status_code == 200
    assert (await ana.refresh()).status_code == 200
    for other in others:
        assert (await other.ask("GET", "/players/me")).json()["detail"] == "The token has been revoked."
        assert (await other.refresh()).json()["code"] == "refresh-token-invalid"
    assert (await site.sign_in("Ana")).status_code == 401
    assert (await site.sign_in("Ana", "new horse 8")).status_code == 200


async def test_a_password_is_changed_only_by_who_knows_it_and_to_a_good_one(site):
    ana = await site.account("Ana")
    guest = await site.guest()
    for person, body, code in (
        (ana, {"current": "wrong horse 7", "password": "new horse 8"}, "credentials-wrong"),
        (ana, {"current": PASSWORD, "password": "12345678"}, "password-invalid"),
        (guest, {"current": PASSWORD, "password": "new horse 8"}, "not-account"),
    ):
        assert (await person.ask("PUT", "/players/me/password", body)).json()["code"] == code
    assert (await site.sign_in("Ana")).status_code == 200


async def test_nobody_signs_in_with_a_password_that_is_just_being_changed(site):
    ana = await site.account("Ana")
    for round_number in range(3):
        before, after = (PASSWORD, "new horse 8") if round_number % 2 == 0 else ("new horse 8", PASSWORD)
        change, *answers = await asyncio.gather(
            ana.ask("PUT", "/players/me/password", {"current": before, "password": after}),
            *(site.sign_in("Ana", before) for _ in range(4)),
        )
        assert change.status_code == 204
        for answer in answers:
            if answer.is_success:  # it was first: then the change has ended it
                other = Person(site.client, answer.json())
                assert (await other.ask("GET", "/players/me")).status_code == 401
                assert (await other.refresh()).status_code == 401
            else:
                assert answer.json()["code"] == "credentials-wrong"


async def test_a_refresh_on_its_way_does_not_slip_through_a_change(site):
    ana = await site.account("Ana")
    thief = Person(site.client, (await site.sign_in("Ana")).json())
    body = {"current": PASSWORD, "password": "new horse 8"}
    change, *_ = await asyncio.gather(
        ana.ask("PUT", "/players/me/password", body), *(thief.refresh() for _ in range(1))
    )
    assert change.status_code == 204
    assert (await thief.refresh()).status_code == 401
    assert (await thief.ask("GET", "/players/me")).status_code == 401


async def test_a_retried_sign_in_begins_one_session(site, database):
    await site.account("Ana")
    headers = key()
    answers = await asyncio.gather(*(site.sign_in("Ana", **headers) for _ in range(3)))
    assert len({answer.text for answer in answers}) == 1
    short = await site.sign_in("Ana", **{"Idempotency-Key": "short"})
    assert short.json()["code"] == "idempotency-key-malformed"
    # Who knows the key and not the password gets nothing.
    assert (await site.sign_in("Ana", "wrong horse 7", **headers)).json()["code"] == "idempotency-key-reused"


async def test_without_a_session_the_account_cannot_be_touched(site):
    bare = site.platform.tokens.access_token("p_1", frozenset({"play"}))
    for method, path, body in (
        ("POST", "/v1/players/me/credential", {"name": "Ana", "password": PASSWORD}),
        ("PUT", "/v1/players/me/password", {"current": PASSWORD, "password": PASSWORD}),
        ("POST", "/v1/players/me/tokens", {"name": "bot", "scopes": ["play"]}),
        ("DELETE", "/v1/tokens/current", None),
    ):
        answer = await site.client.request(method, path, json=body, headers=bearer(bare))
        assert (answer.status_code, answer.json()["code"]) == (403, "sign-in-needed")
        assert (await site.client.request(method, path, json=body)).status_code == 401
