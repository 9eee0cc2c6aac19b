"""Tokens: only ours, only unaltered, only while they last, and only for what they are good for."""

import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.runtime.web.idempotency import command_id, request_hash


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


async def whoami(demo_app, token):
    return await demo_app.client.get("/v1/whoami", headers=bearer(token))


async def test_a_token_says_who_its_holder_is(demo_app):
    response = await whoami(demo_app, demo_app.token("play", "audit", player="p_7"))
    assert response.json() == {"player": "p_7", "scopes": ["audit", "play"]}


async def test_without_a_token_the_caller_is_nobody(demo_app):
    assert (await demo_app.client.get("/v1/whoami")).json() == {"player": "", "scopes": []}


async def test_every_altered_character_of_a_token_is_noticed(demo_app):
    token = demo_app.token("play")
    assert (await whoami(demo_app, token)).status_code == 200
    for place in range(0, len(token) - 1, 7):
        other = "A" if token[place] != "A" else "B"
        altered = token[:place] + other + token[place + 1 :]
        response = await whoami(demo_app, altered)
        assert (response.status_code, response.json()["code"]) == (401, "unauthenticated"), place
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


async def test_an_expired_token_is_refused_also_when_it_was_good_a_moment_ago(demo_app):
    token = demo_app.token("play")
    assert (await whoami(demo_app, token)).status_code == 200
    demo_app.clock.forward_ms = 3_601_000
    response = await whoami(demo_app, token)
    demo_app.clock.forward_ms = 0
    assert (response.status_code, response.json()["detail"]) == (401, "The token has expired.")


@pytest.mark.parametrize("algorithm", ["none", "HS256", "EdDSA"])
async def test_a_token_of_somebody_elses_making_is_refused(demo_app, algorithm):
    key = demo_app.platform.tokens.public_keys()[0]
    secret = {"none": None, "HS256": key.raw, "EdDSA": Ed25519PrivateKey.generate()}[algorithm]
    claims = {"iss": "macao", "sub": "p_1", "scope": "play operate", "iat": 0, "exp": 9_999_999_999}
    forged = jwt.encode(claims, secret, algorithm, headers={"kid": key.id})
    assert (await whoami(demo_app, forged)).status_code == 401


@pytest.mark.parametrize("left_out", ["iss", "sub", "scope", "exp"])
async def test_a_token_that_lacks_a_claim_is_refused(demo_app, left_out):
    claims = {"iss": "macao", "sub": "p_1", "scope": "play", "iat": 0, "exp": 9_999_999_999}
    del claims[left_out]
    key_id, key = demo_app.platform.tokens.keyring.signer("token")
    assert (
        await whoami(demo_app, jwt.encode(claims, key, "EdDSA", headers={"kid": key_id}))
    ).status_code == 401


async def test_the_key_of_records_signs_no_tokens(demo_app):
    claims = {"iss": "macao", "sub": "p_1", "scope": "play", "iat": 0, "exp": 9_999_999_999}
    key_id, key = demo_app.platform.tokens.keyring.signer("record")
    assert (
        await whoami(demo_app, jwt.encode(claims, key, "EdDSA", headers={"kid": key_id}))
    ).status_code == 401


async def test_a_scope_is_demanded_where_it_is_needed(demo_app):
    nobody = await demo_app.client.post("/v1/guarded")
    assert (nobody.status_code, nobody.json()["code"]) == (401, "unauthenticated")
    other = await demo_app.client.post("/v1/guarded", headers=bearer(demo_app.token("audit")))
    assert (other.status_code, other.json()["code"]) == (403, "forbidden")
    assert other.json()["params"] == {"scope": "play"}


async def test_the_published_keys_verify_a_token_by_themselves(demo_app):
    keys = (await demo_app.client.get("/.well-known/jwks.json")).json()["keys"]
    token = demo_app.token("play", player="p_9")
    header = jwt.get_unverified_header(token)
    published = next(key for key in keys if key["kid"] == header["kid"])
    assert published["macao_purpose"] == "token"
    assert jwt.decode(token, jwt.PyJWK(published), algorithms=["EdDSA"])["sub"] == "p_9"
    assert not any("d" in key for key in keys)


async def test_a_command_is_known_by_actor_and_key(demo_app):
    headers = {**bearer(demo_app.token("play", player="p_1")), "Idempotency-Key": "k-1", "If-Match": '"12"'}
    answer = (await demo_app.client.post("/v1/guarded", content=b"{}", headers=headers)).json()
    assert answer["id"] == command_id("p_1", "k-1") != command_id("p_2", "k-1")
    assert len(answer["id"]) == 28 and answer["id"].startswith("c_")
    assert answer["hash"] == request_hash("POST", "/v1/guarded", b"{}").hex()
    assert answer["if_match"] == 12


@pytest.mark.parametrize(
    ("key", "code"),
    [(None, "idempotency-key-missing"), ("", "idempotency-key-malformed"), ("a b", "idempotency-key-malformed"),
     ("x" * 129, "idempotency-key-malformed"), ('"', "idempotency-key-malformed")],
)  # fmt: skip
async def test_a_write_needs_a_key_of_a_certain_form(demo_app, key, code):
    headers = bearer(demo_app.token("play")) | ({} if key is None else {"Idempotency-Key": key})
    response = await demo_app.client.post("/v1/guarded", headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, code)


@pytest.mark.parametrize("tag", ['"', "*", '"1", "2"', '"-1"', "abc", '"1e3"', '"' + "9" * 16 + '"'])
async def test_if_match_holds_one_version(demo_app, tag):
    headers = bearer(demo_app.token("play")) | {"Idempotency-Key": "k", "If-Match": tag}
    response = await demo_app.client.post("/v1/guarded", headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, "malformed-request")


async def test_a_token_names_no_secret(demo_app):
    _, claims, _ = demo_app.token("play").split(".")
    said = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert set(said) == {"iss", "sub", "scope", "iat", "exp"}
