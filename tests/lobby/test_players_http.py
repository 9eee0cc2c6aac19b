import asyncio

import asyncpg

KEY = "key-of-twenty-characters-or-more"


async def create(lobby_app, name="Ana", key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    return await lobby_app.client.post("/v1/players", json={"name": name}, headers=headers)


async def refresh(lobby_app, token, key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    return await lobby_app.client.post("/v1/tokens/refresh", json={"refresh_token": token}, headers=headers)


async def test_a_guest_is_made_by_one_call(lobby_app):
    made = await create(lobby_app, "  Zoë  ")
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    player = made.json()["player"]
    assert (player["name"], player["kind"], player["id"][:2]) == ("Zoë", "guest", "p_")
    me = await lobby_app.client.get(
        "/v1/players/me", headers={"Authorization": f"Bearer {made.json()['token']}"}
    )
    assert me.json() == player
    assert (await lobby_app.client.get("/v1/players/me")).status_code == 401


async def test_a_refused_name_says_which_rule(lobby_app):
    answer = await create(lobby_app, "1st")
    assert (answer.status_code, answer.json()["code"]) == (422, "name-invalid")
    assert answer.json()["params"] == {"rule": "beginning"}


async def test_a_retry_makes_no_second_guest(lobby_app):
    answers = await asyncio.gather(*(create(lobby_app, key=KEY) for _ in range(5)))
    assert len({answer.text for answer in answers}) == 1
    assert sorted(answer.headers.get("Idempotent-Replayed", "") for answer in answers) == ["", *["true"] * 4]
    other = await create(lobby_app, "Ben", key=KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


async def test_a_key_that_could_be_guessed_is_refused_where_the_answer_holds_a_token(lobby_app):
    for key in ("1", '"eighteen-letters-x"'):
        answer = await create(lobby_app, key=key)
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency-key-malformed")


async def test_refresh_tokens_rotate_and_a_second_use_ends_the_session(lobby_app):
    guest = await lobby_app.guest()
    first = await refresh(lobby_app, guest.refresh_token)
    assert first.status_code == 200
    assert set(first.json()) == {"token", "refresh_token", "expires_in"}
    second = await refresh(lobby_app, first.json()["refresh_token"])
    assert second.status_code == 200
    stolen = await refresh(lobby_app, guest.refresh_token)
    assert (stolen.status_code, stolen.json()["code"]) == (401, "refresh-token-invalid")
    after = await refresh(lobby_app, second.json()["refresh_token"])
    assert after.status_code == 401


async def test_an_honest_retry_of_a_refresh_keeps_the_session(lobby_app):
    guest = await lobby_app.guest()
    answers = await asyncio.gather(*(refresh(lobby_app, guest.refresh_token, key="r") for _ in range(4)))
    assert len({answer.text for answer in answers}) == 1
    assert {answer.status_code for answer in answers} == {200}
    assert (await refresh(lobby_app, answers[0].json()["refresh_token"], key="r")).status_code == 200


async def test_a_refresh_token_ends_and_a_made_up_one_is_refused(lobby_app):
    guest = await lobby_app.guest()
    for token in ("", "mr_made_up", "é", guest.refresh_token + "x"):
        assert (await refresh(lobby_app, token)).status_code == 401
    lobby_app.clock.forward_ms = 91 * 24 * 3600 * 1000
    assert (await refresh(lobby_app, guest.refresh_token)).status_code == 401


async def test_no_token_lies_readable_in_the_database(lobby_app, database):
    made = (await create(lobby_app, key=KEY)).json()
    connection = await asyncpg.connect(database)
    rows = await connection.fetch("SELECT hash AS it FROM macao_runtime.refresh_tokens")
    rows += await connection.fetch("SELECT answer AS it FROM macao_runtime.answers")
    await connection.close()
    assert len(rows) == 2
    for secret in (made["token"], made["refresh_token"]):
        assert not any(secret.encode() in row["it"] for row in rows)
