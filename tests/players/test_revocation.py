"""What was revoked is refused by two processes within five seconds: with Redis, without it, and when it dies."""

import asyncio
import time
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from services.lobby.app import service as lobby
from services.runtime.bus import Ear
from services.runtime.tokens import revocations
from tests.http.demo import demo, write
from tests.http.serving import served, stream_of
from tests.players.conftest import Person, bearer, site_of
from tests.support.proxy import Proxy

WITHIN_SECONDS = 5.0


@asynccontextmanager
async def two(database, redis_url="", **more):
    """A process with the lobby, and another that only ever sees tokens."""
    async with (
        served(database, [lobby, demo], redis_url, **more) as one,
        served(database, [demo], redis_url, **more) as other,
        httpx.AsyncClient(base_url=one.url) as here,
        httpx.AsyncClient(base_url=other.url) as there,
    ):
        if redis_url:
            async with asyncio.timeout(5):
                while not (one.platform.bell.connected and other.platform.bell.connected):
                    await asyncio.sleep(0.01)
        yield one, other, here, there


async def guest_of(client):
    return Person(client, (await client.post("/v1/players", json={"name": "Ana"})).json())


async def seconds_until_refused(client, token):
    began = time.monotonic()
    while (await client.get("/v1/whoami", headers=bearer(token))).status_code != 401:
        assert time.monotonic() - began < WITHIN_SECONDS
        await asyncio.sleep(0.01)
    return time.monotonic() - began


async def log_out(here, there):
    """A guest whom both know logs out; returns its token."""
    ana = await guest_of(here)
    assert (await there.get("/v1/whoami", headers=bearer(ana.token))).status_code == 200
    assert (await ana.ask("DELETE", "/tokens/current")).status_code == 204
    assert (await here.get("/v1/whoami", headers=bearer(ana.token))).status_code == 401
    return ana


async def test_with_redis_the_other_process_knows_at_once(database, redis_url, monkeypatch):
    monkeypatch.setattr(revocations, "POLL_SECONDS", 60.0)
    async with two(database, redis_url, poll_seconds=60.0) as (_, _, here, there):
        ana = await log_out(here, there)
        assert await seconds_until_refused(there, ana.token) < 1
        assert (await ana.refresh()).status_code == 401


async def test_without_redis_it_looks_by_itself(database):
    async with two(database, poll_seconds=60.0) as (_, _, here, there):
        ana = await log_out(here, there)
        await seconds_until_refused(there, ana.token)


async def test_nobody_looks_less_often_than_every_two_seconds(database, monkeypatch):
    assert revocations.POLL_SECONDS <= 2
    waits = []
    wait = Ear.wait

    def noted(ear, seconds):
        if ear._stream == revocations.BELL:
            waits.append(seconds)
        return wait(ear, seconds)

    monkeypatch.setattr(Ear, "wait", noted)
    async with site_of(database, only_demo=True, poll_seconds=60.0) as _:
        await asyncio.sleep(0.1)
    assert waits
    assert max(waits) <= 2


async def test_when_redis_dies_it_still_looks_by_itself(database, redis_url):
    parts = urlsplit(redis_url)
    async with Proxy(parts.hostname, parts.port) as proxy:
        login = parts.netloc.rpartition("@")[0]
        through = f"redis://{login + '@' if login else ''}127.0.0.1:{proxy.port}{parts.path}"
        async with two(database, through, poll_seconds=60.0) as (_, _, here, there):
            proxy.frozen = True
            ana = await log_out(here, there)
            await seconds_until_refused(there, ana.token)


@pytest.mark.parametrize("with_redis", [True, False])
async def test_an_open_stream_ends(database, redis_url, with_redis):
    async with two(database, redis_url if with_redis else "", poll_seconds=5.0) as (one, other, here, _):
        await write(one.platform.log, "t_1", 1)
        ana, ben = await guest_of(here), await guest_of(here)
        async with (
            stream_of(one.url, "/v1/follow/t_1", bearer(ana.token)) as local,
            stream_of(other.url, "/v1/follow/t_1", bearer(ana.token)) as remote,
            stream_of(other.url, "/v1/follow/t_1", bearer(ben.token)) as unconcerned,
            stream_of(other.url, "/v1/follow/t_1") as anonymous,
        ):
            for reader in (local, remote, unconcerned, anonymous):
                assert (await reader.next())[0] == "snapshot"
            assert (await ana.ask("DELETE", "/tokens/current")).status_code == 204
            assert await local.next(WITHIN_SECONDS) is None
            assert await remote.next(WITHIN_SECONDS) is None
            await write(one.platform.log, "t_1", 1)
            assert (await unconcerned.next())[:2] == ("event", 2)
            assert (await anonymous.next())[:2] == ("event", 2)


async def test_a_stream_that_opens_with_a_revoked_token_is_refused(database):
    async with two(database) as (one, _, here, _):
        await write(one.platform.log, "t_1", 1)
        ana = await guest_of(here)
        await ana.ask("DELETE", "/tokens/current")
        answer = await here.get("/v1/follow/t_1", headers=bearer(ana.token))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_a_named_token_that_is_revoked_is_refused_everywhere(database, redis_url):
    async with two(database, redis_url) as (_, _, here, there):
        ana = await guest_of(here)
        made = (await ana.ask("POST", "/players/me/tokens", {"name": "bot", "scopes": ["play"]})).json()
        assert (await there.get("/v1/whoami", headers=bearer(made["token"]))).status_code == 200
        await ana.ask("DELETE", f"/players/me/tokens/{made['id']}")
        await seconds_until_refused(there, made["token"])


async def test_a_refresh_token_that_came_twice_ends_the_sessions_tokens_everywhere(database, redis_url):
    async with two(database, redis_url) as (_, _, here, there):
        ana = await guest_of(here)
        stolen = ana.refresh_token
        assert (await ana.refresh()).status_code == 200
        again = await here.post("/v1/tokens/refresh", json={"refresh_token": stolen})
        assert again.json()["code"] == "refresh-token-invalid"
        await seconds_until_refused(there, ana.token)
        assert (await ana.refresh()).status_code == 401


async def test_of_two_who_refresh_at_once_one_may_go_on_and_then_neither(site):
    ana = await site.guest()
    answers = await asyncio.gather(
        *(site.client.post("/v1/tokens/refresh", json={"refresh_token": ana.refresh_token}) for _ in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
    winner = next(answer.json() for answer in answers if answer.is_success)
    assert (await site.whoami(winner["token"])).status_code == 401


async def test_a_process_that_starts_later_knows(database):
    async with site_of(database) as site:
        ana = await site.guest()
        await ana.ask("DELETE", "/tokens/current")
    async with site_of(database, only_demo=True) as later:
        assert (await later.whoami(ana.token)).json()["detail"] == "The token has been revoked."


async def test_what_becomes_visible_late_is_not_missed(database):
    """A transaction that revokes and commits after many others have been seen."""
    async with site_of(database) as site:
        ana, ben = await site.guest(), await site.guest()
        slow = await asyncpg.connect(database)
        session = (await site.platform.tokens.caller_of(ana.token)).session
        async with slow.transaction():
            await revocations.record(slow, {session: 2**52}, 0)
            await asyncio.sleep(0.3)
            await ben.ask("DELETE", "/tokens/current")
            await asyncio.sleep(0.5)
            assert (await site.whoami(ana.token)).status_code == 200
        await slow.close()
        await seconds_until_refused(site.client, ana.token)


async def test_what_has_expired_is_forgotten(database, monkeypatch):
    monkeypatch.setattr(revocations, "RELOAD_SECONDS", 0.1)
    async with site_of(database) as site:
        known = site.platform.tokens.revocations
        ana, ben = await site.guest(), await site.guest()
        first = (await site.platform.tokens.caller_of(ana.token)).session
        await ana.ask("DELETE", "/tokens/current")
        assert first in known
        site.clock.forward_ms = 3_601_000
        await ben.refresh()
        await ben.ask("DELETE", "/tokens/current")
        async with asyncio.timeout(5):
            while first in known:
                await asyncio.sleep(0.05)
        rows = await site.platform.database.pool.fetch("SELECT id FROM macao_runtime.revocations")
        assert len(rows) == 1


async def test_while_the_database_is_away_what_is_known_holds(database, monkeypatch):
    async with site_of(database) as site:
        ana = await site.guest()
        await ana.ask("DELETE", "/tokens/current")

        async def away(*_):
            raise ConnectionRefusedError

        monkeypatch.setattr(site.platform.tokens.revocations, "_look", away)
        await asyncio.sleep(0.6)
        assert (await site.whoami(ana.token)).status_code == 401


async def test_logging_out_twice_is_told(site):
    ana = await site.guest()
    assert (await ana.ask("DELETE", "/tokens/current")).status_code == 204
    assert (await ana.ask("DELETE", "/tokens/current")).status_code == 401
    assert (await site.client.delete("/v1/tokens/current")).json()["code"] == "unauthenticated"
