"""Passwords and tokens are told to nobody: not to the logs, not to the database, not to the events."""

import logging

import asyncpg

from tests.players.conftest import Person, key

PASSWORD = "hunter2-hunter2"
WRONG = "swordfish-swordfish"
JSON = {"Content-Type": "application/json"}
NEW = "open-sesame-open-sesame"


async def test_no_password_is_logged_or_stored(site, database, caplog):
    caplog.set_level(logging.DEBUG)
    ana = await site.guest()
    body = {"name": "Ana", "password": PASSWORD}
    answers = [
        await ana.ask("POST", "/players/me/credential", {**body, "name": "1"}),
        await ana.ask("POST", "/players/me/credential", {**body, "surplus": WRONG}),
        await ana.ask("POST", "/players/me/credential", {"name": PASSWORD, "password": PASSWORD}),
        await ana.ask("POST", "/players/me/credential", body, **key()),
        await ana.ask("POST", "/players/me/credential", body),
        await site.sign_in("Ana", PASSWORD, **key()),
        await site.sign_in("Ana", WRONG),
        await site.sign_in(PASSWORD, WRONG),
        await site.client.post(
            "/v1/tokens",
            content=rb'{"name": "\ud800", "password": "\ud800 %b"}' % WRONG.encode(),
            headers=JSON,
        ),
        await ana.ask("PUT", "/players/me/password", {"current": WRONG, "password": NEW}),
        await ana.ask("PUT", "/players/me/password", {"current": PASSWORD, "password": NEW}),
        await site.client.post(
            "/v1/tokens", content=b'{"name": "Ana", "password": "%b' % PASSWORD.encode(), headers=JSON
        ),
    ]
    assert all(answer.status_code < 500 for answer in answers)
    secrets = (PASSWORD, WRONG, NEW)
    for record in caplog.records:
        assert not any(secret in str(record.__dict__) for secret in secrets), record
    for answer in answers:
        assert not any(secret in answer.text for secret in secrets), answer.text
    assert (await site.sign_in("Ana", NEW)).status_code == 200
    text = await everything_in(database)
    assert "$argon2id$" in text
    for secret in secrets:
        assert secret not in text
        assert secret.encode().hex() not in text


async def test_what_is_stored_of_a_request_is_no_hash_that_can_be_guessed_from(site, database):
    from services.runtime.web.idempotency import request_hash

    ana = await site.guest()
    body = b'{"name":"Ana","password":"hunter2-hunter2"}'
    answer = await site.client.post(
        "/v1/players/me/credential",
        content=body,
        headers={"Authorization": f"Bearer {ana.token}", "Content-Type": "application/json", **key()},
    )
    assert answer.status_code == 201
    guessed = request_hash("POST", "/v1/players/me/credential", body).hex()
    assert guessed not in await everything_in(database)


async def test_no_token_is_logged_or_stored(site, database, caplog):
    caplog.set_level(logging.DEBUG)
    ana = await site.account("Ana")
    again = Person(site.client, (await site.sign_in("Ana", **key())).json())
    named = (await ana.ask("POST", "/players/me/tokens", {"name": "bot", "scopes": ["play"]}, **key())).json()
    tokens = [ana.token, ana.refresh_token, again.token, again.refresh_token, named["token"]]
    await ana.ask("DELETE", "/tokens/current")
    text = await everything_in(database) + "".join(str(record.__dict__) for record in caplog.records)
    for token in tokens:
        assert token not in text
        assert token.encode().hex() not in text


async def everything_in(database: str) -> str:
    """Return every row of every table of ours, as text."""
    connection = await asyncpg.connect(database)
    tables = await connection.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname LIKE 'macao%'"
    )
    rows = [
        row["it"]
        for (table,) in tables
        for row in await connection.fetch(f"SELECT t::text AS it FROM {table} AS t")
    ]
    await connection.close()
    return "\n".join(rows)
