"""Limits: the reckoning, who is meant, what is told, and who keeps them when Redis does not."""

import asyncio
import re
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.limits import Limiter, Policy, Proxies
from services.runtime.limits.limiter import PREFIX
from services.runtime.limits.steady import reckon, verdict_of
from services.runtime.settings import SettingsError
from tests.players.conftest import PASSWORD, site_of
from tests.support.proxy import Proxy

SECOND_US = 1_000_000


@given(
    quota=st.integers(1, 50),
    window_seconds=st.integers(1, 120),
    pauses_us=st.lists(st.integers(0, 5 * SECOND_US), min_size=1, max_size=200),
)
def test_no_window_ever_sees_more_than_the_quota_and_what_it_regains(quota, window_seconds, pauses_us):
    policy = Policy("any", quota, window_seconds)
    now, spent, allowed_at = SECOND_US, 0, []
    for pause in pauses_us:
        now += pause
        spent, allowed = reckon(spent, now, policy)
        verdict = verdict_of(spent, now, policy, allowed=allowed)
        assert 0 <= verdict.remaining <= quota
        assert (verdict.retry_seconds > 0) is (not allowed)
        if allowed:
            allowed_at.append(now)
        else:
            assert reckon(spent, now + round(verdict.retry_seconds * SECOND_US) + 1, policy)[1]
    part_us = window_seconds * SECOND_US // quota
    for first in range(len(allowed_at)):
        for last in range(first, len(allowed_at)):
            assert last - first + 1 <= quota + (allowed_at[last] - allowed_at[first]) // part_us + 1


def test_the_whole_quota_may_be_spent_at_once_and_comes_back_bit_by_bit():
    policy = Policy("any", 4, 60)
    spent, now = 0, 1_000 * SECOND_US
    told = []
    for _ in range(5):
        spent, allowed = reckon(spent, now, policy)
        told.append((allowed, verdict_of(spent, now, policy, allowed=allowed).remaining))
    assert told == [(True, 3), (True, 2), (True, 1), (True, 0), (False, 0)]
    assert verdict_of(spent, now, policy, allowed=False).retry_seconds == 15
    assert not reckon(spent, now + 14 * SECOND_US, policy)[1]
    assert reckon(spent, now + 15 * SECOND_US, policy)[1]


async def limiter_of(url):
    limiter = Limiter(url)
    policy = Policy(f"test-{id(limiter)}", 5, 60)
    return limiter, policy


@pytest.mark.parametrize("with_redis", [True, False])
async def test_redis_and_this_process_reckon_alike(redis_url, with_redis):
    limiter, policy = await limiter_of(redis_url if with_redis else "")
    verdicts = [await limiter.spend(policy, "a") for _ in range(7)]
    assert [verdict.allowed for verdict in verdicts] == [True] * 5 + [False] * 2
    assert [verdict.remaining for verdict in verdicts] == [4, 3, 2, 1, 0, 0, 0]
    assert 11 < verdicts[-1].retry_seconds <= 12
    assert 59 < verdicts[-1].full_seconds <= 60
    assert (await limiter.spend(policy, "b")).allowed
    await limiter.forgive(policy, "a")
    assert (await limiter.spend(policy, "a")).remaining == 4
    await limiter.close()


async def test_several_processes_count_together_and_leave_nothing_behind(redis_url):
    limiters = [Limiter(redis_url) for _ in range(3)]
    policy = Policy(f"test-{id(limiters)}", 10, 1)
    verdicts = await asyncio.gather(*(limiter.spend(policy, "a") for limiter in limiters for _ in range(10)))
    assert 10 <= sum(verdict.allowed for verdict in verdicts) <= 13
    assert await limiters[0]._site.client.keys(f"{PREFIX}:{{{policy.name}}}:*")
    await asyncio.sleep(1.1)
    assert not await limiters[0]._site.client.keys(f"{PREFIX}:{{{policy.name}}}:*")
    for limiter in limiters:
        await limiter.close()


async def test_while_redis_is_away_each_process_counts_alone_and_nobody_waits(redis_url, monkeypatch):
    monkeypatch.setattr("services.runtime.limits.limiter.AWAY_SECONDS", 0.5)
    parts = urlsplit(redis_url)
    async with Proxy(parts.hostname, parts.port) as proxy:
        login = parts.netloc.rpartition("@")[0]
        limiter, policy = await limiter_of(
            f"redis://{login + '@' if login else ''}127.0.0.1:{proxy.port}{parts.path}"
        )
        assert (await limiter.spend(policy, "a")).remaining == 4
        proxy.frozen = True
        async with asyncio.timeout(2):
            verdicts = [await limiter.spend(policy, "a") for _ in range(6)]
        assert [verdict.allowed for verdict in verdicts] == [True] * 5 + [False]
        proxy.frozen = False
        proxy.cut_all()
        await asyncio.sleep(0.6)
        assert (await limiter.spend(policy, "a")).remaining == 3
        await limiter.close()


async def test_a_process_remembers_so_many_subjects_and_no_more(monkeypatch):
    monkeypatch.setattr("services.runtime.limits.limiter.SUBJECTS_MAX", 3)
    limiter, policy = await limiter_of("")
    for subject in "abcde":
        await limiter.spend(policy, subject)
    assert len(limiter._spent) == 3


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "subject"),
    [
        ("", "203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.0/8", "10.1.1.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.0/8", "10.1.1.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.0/8", "10.1.1.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.0/8, 192.0.2.7", "10.1.1.1", ["198.51.100.1, 192.0.2.7"], "198.51.100.1"),
        ("10.0.0.0/8", "10.1.1.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.0/8", "10.1.1.1", ["nonsense"], "10.1.1.1"),
        ("10.0.0.0/8", "10.1.1.1", [], "10.1.1.1"),
        ("10.0.0.0/8", "10.1.1.1", ["10.2.2.2"], "10.2.2.2"),
        ("10.0.0.0/8", "::ffff:10.1.1.1", ["[2001:db8:1:2:3:4:5:6]:443"], "2001:db8:1:2::/64"),
        ("::1", "::1", ["2001:db8:1:2::9"], "2001:db8:1:2::/64"),
        ("", "::ffff:203.0.113.9", [], "203.0.113.9"),
        ("", "fe80::1%eth0", [], "fe80::/64"),
        ("", "", [], "unknown"),
    ],
)
def test_the_address_is_the_last_that_a_proxy_of_ours_vouches_for(trusted, peer, forwarded, subject):
    assert Proxies(trusted).subject_of(peer, forwarded) == subject


def test_a_proxy_that_is_no_address_is_told():
    with pytest.raises(SettingsError, match="MACAO_TRUSTED_PROXIES"):
        Proxies("10.0.0.0/8, proxy.example")


async def guest_from(site, address):
    headers = {"X-Forwarded-For": address}
    return await site.client.post("/v1/players", json={"name": "Ana"}, headers=headers)


async def test_guests_of_one_address_are_limited_and_told_so(database):
    async with site_of(database, guests_per_minute=3, trusted_proxies="127.0.0.1") as site:
        answers = [await guest_from(site, "198.51.100.1") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
        assert [answer.headers["RateLimit-Policy"] for answer in answers] == ['"guests";q=3;w=60'] * 4
        assert re.fullmatch(r'"guests";r=2;t=\d+', answers[0].headers["RateLimit"])
        refused = answers[3]
        assert refused.headers["RateLimit"].startswith('"guests";r=0;')
        assert 1 <= int(refused.headers["Retry-After"]) <= 20
        assert refused.json()["code"] == "rate-limited"
        assert refused.json()["params"]["policy"] == "guests"
        assert (await guest_from(site, "198.51.100.2")).status_code == 201
        # A name that is refused anyway costs nothing.
        assert (await site.client.post("/v1/players", json={"name": "1"})).status_code == 422


async def test_two_processes_share_the_limit_through_redis(database, redis_url):
    more = {"guests_per_minute": 4, "trusted_proxies": "127.0.0.1"}
    async with site_of(database, redis_url, **more) as one, site_of(database, redis_url, **more) as other:
        answers = [
            # An address of this test alone, as the tests share one Redis.
            await guest_from(site, "203.0.113.77")
            for site in (one, other, one, other, one, other)
        ]
    assert [answer.status_code for answer in answers] == [201] * 4 + [429] * 2


async def test_passwords_for_one_name_are_limited_whatever_way_it_is_written(database):
    async with site_of(database, logins_per_name=3) as site:
        await site.account("Ana Maria")
        names = ["Ana Maria", "ana_maria", "ANÀ MARIA", "AnaMaria"]
        answers = [await site.sign_in(name, "wrong horse 7") for name in names]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
        assert answers[3].json()["params"]["policy"] == "names"
        assert (await site.sign_in("Ana Maria")).status_code == 429
        assert (await site.sign_in("Somebody Else", "wrong horse 7")).status_code == 401


async def test_who_knows_the_password_is_not_limited_by_name(database):
    async with site_of(database, logins_per_name=2) as site:
        ana = await site.account("Ana")
        for _ in range(4):
            answer = await site.sign_in("Ana")
            assert answer.status_code == 200
            assert '"names";q=2;w=60' in answer.headers["RateLimit-Policy"]
        body = {"current": "wrong horse 7", "password": "new horse 8"}
        answers = [await ana.ask("PUT", "/players/me/password", body) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [401, 401, 429]


async def test_passwords_of_one_address_are_limited_and_hashes_too(database):
    async with site_of(database, logins_per_minute=3) as site:
        ana = await site.guest()
        assert (await ana.become("Ana", "short")).status_code == 422
        answers = [await site.sign_in(f"Name {number}", PASSWORD) for number in range(3)]
        assert [answer.status_code for answer in answers] == [401, 401, 429]
        assert (await ana.become("Ana")).status_code == 429


async def test_zero_means_no_limit(database):
    async with site_of(database, guests_per_minute=0, logins_per_minute=0, logins_per_name=0) as site:
        answer = await site.client.post("/v1/players", json={"name": "Ana"})
        assert answer.status_code == 201
        # What is left is the limit on all requests of an address, 60,000 a minute.
        assert answer.headers["RateLimit-Policy"] == '"address";q=60000;w=60'
