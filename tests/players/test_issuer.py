"""Tokens of an external OpenID Connect issuer, played by a server on loopback."""

import asyncio
import base64
import json
import time
from datetime import timedelta

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import rsa

from services.runtime.issuer import claims, keys
from services.runtime.issuer.claims import read
from services.runtime.issuer.config import IssuerConfig, ScopeRule
from services.runtime.settings import Settings, SettingsError
from services.runtime.tokens.caller import TokenError
from tests.http.app import SECRET_KEY
from tests.players.conftest import PASSWORD, bearer, site_of
from tests.players.fake_issuer import AUDIENCE, FakeIssuer

SCOPES = "audit=groups:auditors,operate=realm_access.roles:macao-operator"


@pytest_asyncio.fixture(loop_scope="session")
async def issuer():
    async with FakeIssuer() as running:
        running.add("k1")
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def site(database, issuer):
    async with site_of(database, **issuer.settings(oidc_scopes=SCOPES)) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(databases):
    """A site and its issuer for many tests that leave nothing behind which another minds."""
    async with FakeIssuer() as issuer, databases.fresh() as database:
        issuer.add("k1")
        async with site_of(database, **issuer.settings(oidc_scopes=SCOPES)) as one:
            yield one, issuer


async def me(site, token):
    return await site.client.get("/v1/players/me", headers=bearer(token))


async def test_a_subject_is_a_player_from_their_first_call_on_and_stays_it(site, issuer):
    first = await me(site, issuer.token("abc", preferred_username="ana@example.org"))
    assert first.status_code == 200
    assert (first.json()["name"], first.json()["kind"], first.json()["id"][:2]) == ("ana", "account", "p_")
    later = await me(site, issuer.token("abc", preferred_username="renamed"))
    assert later.json() == first.json()
    other = await me(site, issuer.token("abd"))
    assert other.json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"preferred_username": "Ștefan"}, "Ștefan"),
        ({"nickname": "<b>Bo</b>"}, "bBob"),
        ({"name": "a" * 99}, "a" * 24),
        ({"preferred_username": ""}, "Player "),
        ({"preferred_username": "admin"}, "Player "),
        ({"preferred_username": "\N{RIGHT-TO-LEFT OVERRIDE}"}, "Player "),
        ({"preferred_username": 7, "given_name": "Ida"}, "Ida"),
        ({}, "Player "),
    ],
)
async def test_the_name_is_made_to_keep_the_rules(shared, said, named):
    site, issuer = shared
    name = (await me(site, issuer.token(f"called {said}", **said))).json()["name"]
    assert name.startswith(named)
    assert name == named or len(name) == 15


async def test_a_name_that_is_taken_gets_a_number(site, issuer):
    guest = await site.guest()
    assert (await guest.become("Ana")).status_code == 201
    names = [(await me(site, issuer.token(f"s{number}", name="ANA"))).json()["name"] for number in range(10)]
    assert names[:2] == ["ANA 2", "ANA 3"]
    assert names[7] == "ANA 9"
    assert all(name.startswith("Player ") for name in names[8:])
    assert len(set(names)) == 10


async def test_many_first_calls_at_once_make_one_player(database, issuer):
    async with (
        site_of(database, **issuer.settings()) as one,
        site_of(database, only_demo=True, **issuer.settings()) as other,
    ):
        tokens = [issuer.token("same", jti=str(number), name="Ana") for number in range(8)]
        answers = await asyncio.gather(
            *((one, other)[number % 2].whoami(token) for number, token in enumerate(tokens))
        )
        assert len({answer.json()["player"] for answer in answers}) == 1
        pool = one.platform.database.pool
        assert await pool.fetchval("SELECT count(*) FROM macao_runtime.players") == 1


async def test_claims_give_scopes(shared):
    site, issuer = shared
    for said, scopes in (
        ({}, ["play"]),
        ({"groups": ["auditors", "x"]}, ["audit", "play"]),
        ({"groups": "x auditors"}, ["audit", "play"]),
        ({"realm_access": {"roles": ["macao-operator"]}, "groups": []}, ["operate", "play"]),
        ({"groups": ["Auditors"], "scope": "service operate audit", "realm_access": 7}, ["play"]),
    ):
        assert (await site.whoami(issuer.token(**said))).json()["scopes"] == scopes


async def test_every_allowed_algorithm_is_taken(site, issuer):
    algorithms = ["RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"]
    for algorithm in algorithms:
        issuer.add(f"key for {algorithm}", algorithm)
    for algorithm in algorithms:
        assert (await site.whoami(issuer.token(kid=f"key for {algorithm}"))).status_code == 200, algorithm


@pytest.mark.parametrize(
    ("said", "without"),
    [
        ({"iss": "http://127.0.0.1:1/other"}, ()),
        ({"aud": "somebody-else"}, ()),
        ({"aud": ["a", "b"]}, ()),
        ({}, ("aud",)),
        ({}, ("exp",)),
        ({}, ("sub",)),
        ({"sub": ""}, ()),
        ({"sub": "x" * 256}, ()),
        ({"sub": "a\0b"}, ()),
        ({"exp": timedelta(minutes=-2)}, ()),
        ({"exp": 1e300}, ()),
        ({"nbf": timedelta(minutes=10)}, ()),
        ({"iat": timedelta(minutes=10)}, ()),
        ({"nbf": "soon"}, ()),
    ],
)
async def test_a_token_that_says_something_else_is_refused(shared, said, without):
    site, issuer = shared
    players = "SELECT count(*) FROM macao_runtime.players"
    before = await site.platform.database.pool.fetchval(players)
    now = time.time()  # not when the cases were collected: the whole suite may have run since
    timed = {
        claim: int(now + value.total_seconds()) if isinstance(value, timedelta) else value
        for claim, value in said.items()
    }
    answer = await site.whoami(issuer.token(**{"subject": "refused", **timed}, without=without))
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert await site.platform.database.pool.fetchval(players) == before


async def test_clocks_may_differ_by_half_a_minute(shared):
    site, issuer = shared
    now = int(time.time())
    assert (await site.whoami(issuer.token(exp=now - 10))).status_code == 200
    assert (await site.whoami(issuer.token(nbf=now + 10, iat=now + 10))).status_code == 200
    assert (await site.whoami(issuer.token(aud=["other", AUDIENCE]))).status_code == 200


async def test_a_token_that_was_good_ends_by_the_clock(site, issuer):
    token = issuer.token()
    assert (await site.whoami(token)).status_code == 200
    site.clock.forward_ms = (600 + claims.SKEW_SECONDS + 1) * 1000
    assert (await site.whoami(token)).json()["detail"] == "The token has expired."


def forged(header, said, signature=b""):
    parts = [
        base64.urlsafe_b64encode(part).rstrip(b"=").decode()
        for part in (json.dumps(header).encode(), json.dumps(said).encode(), signature)
    ]
    return ".".join(parts)


async def test_a_forged_token_is_refused(shared):
    site, issuer = shared
    good = issuer.token()
    assert (await site.whoami(good)).status_code == 200
    said = jwt.decode(good, options={"verify_signature": False})
    public = issuer.published[0]
    other = rsa.generate_private_key(65537, 2048)
    for token in (
        forged({"alg": "none", "kid": "k1"}, said),
        forged({"alg": "None", "kid": "k1"}, said),
        jwt.encode(said, public["n"], "HS256", headers={"kid": "k1"}),
        jwt.encode(said, other, "RS256", headers={"kid": "k1"}),
        jwt.encode(said, other, "RS256", headers={"kid": "made-up"}),
        jwt.encode(said, other, "RS256"),
        jwt.encode(
            said, other, "RS256", headers={"kid": "k1", "jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}
        ),
        good[:-4] + "AAAA",
        good.rpartition(".")[0] + ".",
    ):
        answer = await site.whoami(token)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), token


async def test_an_algorithm_other_than_the_keys_own_is_refused(site, issuer):
    issuer.published[0]["alg"] = "PS256"
    assert (await site.whoami(issuer.token())).status_code == 401


@pytest.mark.filterwarnings("ignore:The RSA key")
async def test_weak_encrypting_and_shared_keys_are_not_taken(site, issuer):
    issuer.published.clear()
    issuer.add("weak", key=rsa.generate_private_key(65537, 1024))
    issuer.add("other-use", use="enc")
    issuer.published.append(
        {"kty": "oct", "kid": "shared", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
    )
    for kid in ("weak", "other-use"):
        assert (await site.whoami(issuer.token(kid=kid))).status_code == 401
    said = jwt.decode(issuer.token(kid="other-use"), options={"verify_signature": False})
    assert (
        await site.whoami(jwt.encode(said, bytes(32), "HS256", headers={"kid": "shared"}))
    ).status_code == 401


async def test_keys_are_fetched_once_and_anew_when_one_is_missing(site, issuer, monkeypatch):
    monkeypatch.setattr(keys, "PAUSE_SECONDS", 0.0)
    await asyncio.gather(*(site.whoami(issuer.token(f"s{number}")) for number in range(10)))
    assert issuer.asked == ["/realm/.well-known/openid-configuration", "/realm/keys"]
    issuer.add("k2")
    assert (await site.whoami(issuer.token(kid="k2"))).status_code == 200
    assert len(issuer.asked) == 4


async def test_made_up_key_ids_do_not_send_us_there_each_time(site, issuer):
    await site.whoami(issuer.token())
    asked = len(issuer.asked)
    said = jwt.decode(issuer.token(), options={"verify_signature": False})
    other = rsa.generate_private_key(65537, 2048)
    for number in range(20):
        token = jwt.encode(said, other, "RS256", headers={"kid": f"made-up-{number}"})
        assert (await site.whoami(token)).status_code == 401
    assert len(issuer.asked) == asked


async def test_a_withdrawn_key_is_refused_also_for_tokens_that_were_good(site, issuer, monkeypatch):
    monkeypatch.setattr(keys, "PAUSE_SECONDS", 0.0)
    token = issuer.token(exp=int(time.time()) + 3600)
    assert (await site.whoami(token)).status_code == 200
    issuer.withdraw("k1")
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", 0.0)
    site.clock.forward_ms = 301_000
    assert (await site.whoami(token)).status_code == 401


async def test_an_issuer_that_is_away_is_a_matter_of_trying_again(site, issuer, monkeypatch):
    monkeypatch.setattr(keys, "PAUSE_SECONDS", 0.0)
    issuer.down = True
    answer = await site.whoami(issuer.token())
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert (await site.guest()).id.startswith("p_")  # our own tokens need no issuer
    issuer.down = False
    assert (await site.whoami(issuer.token())).status_code == 200
    issuer.down = True
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", 0.0)
    assert (await site.whoami(issuer.token("other"))).status_code == 200, "the last known keys are good"
    monkeypatch.setattr(keys, "STALE_SECONDS", 0.0)
    assert (await site.whoami(issuer.token("another"))).status_code == 503


async def test_a_discovery_document_of_another_issuer_is_not_believed(site, issuer):
    issuer.named = "http://127.0.0.1:1/other"
    assert (await site.whoami(issuer.token())).status_code == 503


async def test_the_keys_may_be_named_by_the_settings(database, issuer):
    more = issuer.settings(oidc_jwks_url=f"{issuer.url}/keys")
    async with site_of(database, only_demo=True, **more) as site:
        assert (await site.whoami(issuer.token())).status_code == 200
    assert issuer.asked == ["/realm/keys"]


async def test_our_own_tokens_stay_ours_and_without_settings_no_others_are_taken(database, issuer):
    async with site_of(database) as site:
        assert (await site.whoami(issuer.token())).status_code == 401
    assert issuer.asked == []


async def test_a_token_of_the_issuer_can_be_logged_out(database, issuer):
    async with (
        site_of(database, **issuer.settings()) as one,
        site_of(database, only_demo=True, **issuer.settings()) as other,
    ):
        first, second = issuer.token(), issuer.token(jti="another")
        assert (await other.whoami(first)).status_code == 200
        gone = await one.client.delete("/v1/tokens/current", headers=bearer(first))
        assert gone.status_code == 204
        async with asyncio.timeout(5):
            while (await other.whoami(first)).status_code != 401:
                await asyncio.sleep(0.05)
        assert (await other.whoami(second)).status_code == 200


async def test_the_issuers_people_make_tokens_for_their_bots_and_have_no_password_here(site, issuer):
    headers = bearer(issuer.token(groups=["auditors"]))

    async def make(scopes):
        body = {"name": "bot", "scopes": scopes}
        return await site.client.post("/v1/players/me/tokens", json=body, headers=headers)

    made = await make(["play"])
    assert made.status_code == 201
    assert (await site.whoami(made.json()["token"])).json()["scopes"] == ["play"]
    # The issuer could not take back what lives on in a token of ours.
    assert (await make(["audit"])).json()["code"] == "forbidden"
    body = {"name": "Ana", "password": PASSWORD}
    answer = await site.client.post("/v1/players/me/credential", json=body, headers=headers)
    assert answer.json()["code"] == "sign-in-needed"


async def test_their_scopes_are_not_ours_to_grant(site, issuer, database, capsys):
    from tests.players.test_grants import macao

    player = (await me(site, issuer.token())).json()["id"]
    assert await macao("grant", player, "audit", "--database", database) == 1
    assert f"signs in at {issuer.url}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"oidc_issuer": "https://id.example"}, "MACAO_OIDC_AUDIENCE"),
        ({"oidc_audience": "macao"}, "MACAO_OIDC_ISSUER"),
        ({"oidc_issuer": "http://id.example", "oidc_audience": "m"}, "https://"),
        ({"oidc_issuer": "id.example", "oidc_audience": "m"}, "https://"),
        ({"oidc_issuer": "https://id.example", "oidc_audience": "m", "oidc_jwks_url": "ftp://x/y"}, "JWKS_URL"),
        ({"oidc_issuer": "https://id.example", "oidc_audience": "m", "oidc_scopes": "service=a:b"}, "OIDC_SCOPES"),
        ({"oidc_issuer": "https://id.example", "oidc_audience": "m", "oidc_scopes": "audit=groups"}, "OIDC_SCOPES"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_told_in_one_line(given, told):
    with pytest.raises(SettingsError, match=told) as caught:
        IssuerConfig.of(Settings(database_url="postgresql://localhost/none", secret_key=SECRET_KEY, **given))
    assert "\n" not in str(caught.value)


def test_a_claim_may_be_named_by_a_url():
    settings = Settings(
        database_url="postgresql://localhost/none",
        secret_key=SECRET_KEY,
        oidc_issuer="https://id.example",
        oidc_audience="m",
        oidc_scopes="audit=https://id.example/roles:auditor, operate=a.b.c:d",
    )
    config = IssuerConfig.of(settings)
    assert config.rules == (
        ScopeRule("audit", "https://id.example/roles", "auditor"),
        ScopeRule("operate", "a.b.c", "d"),
    )
    said = {"iss": "https://id.example", "aud": "m", "sub": "s", "exp": 2_000, "a": {"b": {"c": "d e"}}}
    identity = read({**said, "https://id.example/roles": ["auditor"]}, config, 1_000_000)
    assert identity.scopes == {"play", "audit", "operate"}
    with pytest.raises(TokenError, match="expired"):
        read(said, config, 3_000_000)


async def test_an_erased_player_comes_back_as_somebody_new(site, issuer):
    token = issuer.token("abc", preferred_username="Theodora")
    before = (await me(site, token)).json()
    erased = await site.client.delete("/v1/players/me", headers=bearer(token))
    assert erased.status_code == 204, erased.text
    assert (await me(site, token)).json()["code"] == "unauthenticated"
    after = (await me(site, issuer.token("abc", preferred_username="Theodora", jti="2"))).json()
    assert (after["name"], after["id"] != before["id"]) == ("Theodora", True)
    rows = await site.platform.database.pool.fetch(
        "SELECT name, kind FROM macao_runtime.players WHERE id = $1", before["id"]
    )
    assert [tuple(row) for row in rows] == [("Erased player", "erased")]
