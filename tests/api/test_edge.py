"""Around every request: limits, origins, security headers, and the pages of problems."""

import asyncio

import httpx
import pytest

from services.contracts.problems import PROBLEMS
from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.runtime.limits import Limiter, Meter, Policy
from services.runtime.settings import SettingsError
from services.runtime.web.cors import Origins
from tests.api.conftest import Site
from tests.http.app import app_of, client_of, settings_of
from tests.http.demo import demo, write
from tests.http.serving import served, stream_of


async def test_a_caller_has_a_quota_and_is_told_of_it(database: str) -> None:
    app = app_of(settings_of(database, requests_per_caller=5, bots=False), [engine, lobby])
    async with client_of(app) as client:
        token = (await client.post("/v1/players", json={"name": "Ana"})).json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        answers = [await client.get("/v1/players/me", headers=headers) for _ in range(8)]
        # The first request shows whose token it is; from then on it counts.
        assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
        assert answers[1].headers["RateLimit-Policy"] == '"caller";q=5;w=60'
        assert answers[1].headers["RateLimit"].startswith('"caller";r=4;t=')
        refused = answers[-1]
        assert refused.json()["code"] == "rate-limited"
        assert 1 <= int(refused.headers["Retry-After"]) <= 12
        assert (await client.get("/v1/games")).status_code == 200, "others are not concerned"


async def test_a_second_token_does_not_take_a_request_out_of_the_quota(database: str) -> None:
    app = app_of(settings_of(database, requests_per_caller=3, bots=False), [lobby])
    async with client_of(app) as client:
        token = (await client.post("/v1/players", json={"name": "Ana"})).json()["token"]
        headers = [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer nobody")]
        answers = [await client.get("/v1/players/me", headers=headers) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2


async def test_an_address_has_a_quota(database: str) -> None:
    app = app_of(settings_of(database, requests_per_address=3), [engine])
    async with client_of(app) as client:
        paths = ("/v1/games", "//v1//games", "/%76%31/games", "///v1/games")
        statuses = [(await client.get(f"http://test{path}")).status_code for path in paths]
        assert statuses == [200, 200, 200, 429], "slashes that are too many change nothing"
        assert (await client.get("/health/live")).status_code == 200


async def test_processes_share_a_quota(redis_url: str) -> None:
    policy = Policy(f"shared-{id(object())}", 100)
    limiters = Limiter(redis_url), Limiter(redis_url)
    one, other = (Meter(policy, limiter) for limiter in limiters)
    try:
        for _ in range(60):
            assert one.spend("p").allowed
        await one.exchange()
        for _ in range(30):
            assert other.spend("p").allowed
        assert other.spend("p").remaining > 60
        await other.exchange()
        assert other.spend("p").remaining < 15
        await one.exchange()  # nothing new to tell
        assert one.spend("p").allowed
        await one.exchange()
        assert one.spend("p").remaining < 15
    finally:
        await asyncio.gather(*(limiter.close() for limiter in limiters))


async def test_without_redis_a_process_counts_alone() -> None:
    limiter = Limiter("")
    meter = Meter(Policy("alone", 2), limiter)
    await meter.exchange()
    assert [meter.spend("p").allowed for _ in range(3)] == [True, True, False]
    await meter.exchange()
    assert not meter.spend("p").allowed
    assert meter.spend("q").allowed


async def test_streams_are_capped_by_caller(database: str) -> None:
    async with served(database, [demo], streams_per_caller=1) as site:
        await write(site.platform.log, "t_a", 1)
        headers = {"Authorization": f"Bearer {site.platform.tokens.access_token('p_1', frozenset({'play'}))}"}
        async with stream_of(site.url, "/v1/follow/t_a", headers) as reader:
            await reader.next()
            async with httpx.AsyncClient(base_url=site.url) as client:
                refused = await client.get("/v1/follow/t_a", headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (429, "too-many-streams")
            async with stream_of(site.url, "/v1/follow/t_a") as another:
                assert (await another.next())[0] == "snapshot"


async def test_pages_of_other_origins_call_when_they_are_listed(database: str) -> None:
    listed = "https://play.example"
    app = app_of(settings_of(database, cors_origins=f"{listed}, https://other.example:8443"), [engine])
    async with client_of(app) as client:
        asked = {"Origin": listed, "Access-Control-Request-Method": "POST"}
        preflight = await client.options("/v1/matches/m_1/moves", headers=asked)
        assert preflight.status_code == 204
        assert preflight.headers["Access-Control-Allow-Origin"] == listed
        assert "idempotency-key" in preflight.headers["Access-Control-Allow-Headers"]
        for path in ("/v1/games", "/v1/nowhere"):
            answer = await client.get(path, headers={"Origin": listed})
            assert answer.headers["Access-Control-Allow-Origin"] == listed
            assert "etag" in answer.headers["Access-Control-Expose-Headers"]
        stranger = await client.get("/v1/games", headers={"Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in stranger.headers
        assert "Origin" in stranger.headers["Vary"]


@pytest.mark.parametrize("bad", ["play.example", "ftp://play.example", "https://", "https://a.example/path"])
def test_an_origin_that_is_none_is_told(bad: str) -> None:
    with pytest.raises(SettingsError, match="MACAO_CORS_ORIGINS"):
        Origins(bad)


async def test_every_answer_is_protected(site: Site) -> None:
    for path in ("/v1/games", "/v1/nowhere", "/problems/not-found", "/health/live"):
        headers = (await site.client.get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in headers["Content-Security-Policy"]


async def test_options_tells_the_methods_of_a_path(site: Site) -> None:
    answer = await site.client.options("/v1/tables")
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET, HEAD, POST, OPTIONS")


@pytest.mark.parametrize("code", sorted(PROBLEMS))
async def test_every_problem_has_a_page_that_runs_nothing(site: Site, code: str) -> None:
    page = await site.client.get(f"/problems/{code}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert code in page.text
    assert "<script" not in page.text
    assert "style-src 'sha256-" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tables",
        "/v1/lobby",
        "/v1/leaderboards/dice-race",
        "/v1/players/p_01KB9YQ04N6P8R0T2V4X6Z8A0C/matches",
    ],
)
async def test_a_wrong_cursor_is_told_in_the_same_words_everywhere(site: Site, path: str) -> None:
    for cursor in ("x", "%ff", "", "dF8wMUtCOVlRMDRONlA4UjBUMlY0WDZaOEEwQw"):
        refused = await site.client.get(f"{path}?cursor={cursor}")
        told = refused.json()
        assert (refused.status_code, told["code"], told["params"]) == (
            400,
            "malformed-request",
            {"at": "cursor"},
        )
        assert told["detail"] == "cursor is not the `next` of a page of this list."
