"""One URL says where Redis is, and of what kind; a wrong one is told at the start, without its password."""

import pytest

from services.runtime.platform import Platform
from services.runtime.redis_url import RedisAddress, Topology, parse_redis_url
from services.runtime.settings import SettingsError
from tests.store.writers import settings_for


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost", RedisAddress(Topology.SINGLE, url="redis://localhost")),
        ("unix:///run/redis.sock?db=1", RedisAddress(Topology.SINGLE, url="unix:///run/redis.sock?db=1")),
        (
            "redis+sentinel://one,two:5000/mymaster",
            RedisAddress(Topology.SENTINEL, hosts=(("one", 26379), ("two", 5000)), service="mymaster"),
        ),
        (
            "rediss+sentinel://:a%40b%2Fc@one:1/my%20master/3?sentinel_password=s%26t&ssl_ca_certs=/ca.pem",
            RedisAddress(
                Topology.SENTINEL,
                hosts=(("one", 1),),
                service="my master",
                database=3,
                password="a@b/c",
                tls=True,
                options={"sentinel_password": "s&t", "ssl_ca_certs": "/ca.pem"},
            ),
        ),
        (
            "redis+cluster://user:word@[2001:db8::1]:7000,[2001:db8::2],three",
            RedisAddress(
                Topology.CLUSTER,
                hosts=(("2001:db8::1", 7000), ("2001:db8::2", 6379), ("three", 6379)),
                username="user",
                password="word",
            ),
        ),
        ("redis+cluster://one/0", RedisAddress(Topology.CLUSTER, hosts=(("one", 6379),))),
    ],
)
def test_a_url_says_where_redis_is(url, address):
    assert parse_redis_url(url) == address


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:6379", "has to begin with redis://"),
        ("http://:secret@localhost", "has to begin with redis://"),
        ("redis+sentinels://:secret@one/service", "has to begin with redis://"),
        ("redis://:secret@localhost:port/0", "redis://user:password@host:6379/0"),
        ("redis://:se/cret@localhost/0", "%2F for /"),
        ("redis+cluster://:se/cret@localhost", "%2F"),
        ("redis://:secret@localhost?no_such_option=1", "an option behind the question mark"),
        ("redis://:secret@localhost?socket_timeout=long", "redis://user:password@host:6379/0"),
        ("redis+sentinel://:secret@one:26379,two:26379", "the name that they have for the primary"),
        ("redis+sentinel://:secret@one/service/two", "is no number"),
        ("redis+sentinel://:secret@one/service/0/more", "/service/database"),
        ("redis+sentinel://:secret@one,,two/service", "hosts with their ports"),
        ("redis+sentinel://:secret@one:/service", "hosts with their ports"),
        ("redis+sentinel:///service", "hosts with their ports"),
        ("redis+sentinel://:secret@one/service?password=x", "the option password is unknown"),
        ("redis+cluster://:secret@one:port", "hosts with their ports"),
        ("redis+cluster://:secret@one:70000", "hosts with their ports"),
        ("redis+cluster://:secret@one/1", "only the database 0"),
        ("redis+cluster://:secret@one?sentinel_password=x", "the option sentinel_password is unknown"),
        ("redis+cluster://:secret#1@one", "%23"),
        ("redis+cluster://:secret@[::1", "MACAO_REDIS_URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_at_the_start(url, told):
    with pytest.raises(SettingsError, match=r"^MACAO_REDIS_URL cannot be used: ") as caught:
        Platform(settings_for("postgresql://nowhere", redis_url=url))
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "cret@" not in str(caught.value)
    assert "\n" not in str(caught.value)
