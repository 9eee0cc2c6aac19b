"""Of several hosts the one that may be written to is found, whatever the others do."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from services.cli.embedded.ports import free_port
from services.runtime import hosts
from services.runtime.database import Database, connection_broke, settle
from services.runtime.hosts import SILENT_SECONDS, Hosts, urls_of
from services.runtime.pool import open_pool
from tests.store.writers import settings_for


@asynccontextmanager
async def mute() -> AsyncIterator[str]:
    """A host that takes connections and never says a word, as one that hangs."""
    leave = asyncio.Event()

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await leave.wait()
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        leave.set()


def with_hosts(url: str, *given: str) -> str:
    """Return the URL with these hosts, ``here`` standing for its own."""
    parts = urlsplit(url)
    login, at, own = parts.netloc.rpartition("@")
    netloc = ",".join(own if host == "here" else host for host in given)
    return urlunsplit(parts._replace(netloc=f"{login}{at}{netloc}"))


@pytest.mark.parametrize(
    ("url", "urls"),
    [
        ("postgresql://u:p@a:1/d?x=y", ["postgresql://u:p@a:1/d?x=y"]),
        (
            "postgresql://u:p@a:1,[::1]:2,c/d",
            [
                f"postgresql://u:p@{host}/d?target_session_attrs=read-write"
                for host in ("a:1", "[::1]:2", "c")
            ],
        ),
        (
            "postgresql://a,b/d?x=y",
            [f"postgresql://{host}/d?x=y&target_session_attrs=read-write" for host in ("a", "b")],
        ),
        (
            "postgresql://a,b/d?target_session_attrs=any",
            [f"postgresql://{host}/d?target_session_attrs=any" for host in ("a", "b")],
        ),
    ],
)
def test_a_url_with_several_hosts_is_one_for_each(url: str, urls: list[str]) -> None:
    assert urls_of(url) == urls


async def test_a_host_that_hangs_or_refuses_does_not_keep_us_from_the_next(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "CONNECT_SEVERAL_SECONDS", 0.3)
    loop = asyncio.get_running_loop()
    async with mute() as silent:
        several = Hosts(with_hosts(database, silent, f"127.0.0.1:{free_port()}", "here"))
        began = loop.time()
        first = await several.connect()
        assert loop.time() - began >= 0.3
        began = loop.time()
        second = await several.connect()
        assert loop.time() - began < 0.3, "what was found is asked first"
        for connection in (first, second):
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()


async def test_once_another_host_is_found_nobody_waits_for_the_one_before(database: str) -> None:
    own = urlsplit(database).netloc.rpartition("@")[2]
    port = own.rpartition(":")[2]
    here, there = f"127.0.0.1:{port}", f"localhost:{port}"  # two names of one server
    several, poolers = Hosts(with_hosts(database, here, there)), Hosts(database, pooled=True)
    several.followed_by(poolers)
    first, through = await several.connect(), await poolers.connect()
    waiting = asyncio.create_task(first.fetchval("SELECT pg_sleep(60)"))
    await asyncio.sleep(0.1)
    several._urls.reverse()  # as when the first did not answer
    several._urls.insert(0, with_hosts(database, f"127.0.0.1:{free_port()}"))
    second = await several.connect()
    with pytest.raises(asyncpg.ConnectionDoesNotExistError):
        async with asyncio.timeout(5):
            await waiting
    assert first.is_closed()
    assert through.is_closed()
    assert await second.fetchval("SELECT 1") == 1
    await second.close()


async def test_who_lets_nobody_in_says_why(database: str) -> None:
    async with mute() as silent:
        url = urlsplit(with_hosts(database, "here", silent))
        wrong = urlunsplit(url._replace(netloc=f"macao_nobody:x@{url.netloc.rpartition('@')[2]}"))
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            await Hosts(wrong).connect()


@pytest.mark.skipif(sys.platform != "linux", reason="these options have other names elsewhere")
async def test_a_host_that_falls_silent_is_given_up(database: str) -> None:
    connection: Any = await Hosts(database).connect()
    given = connection._transport.get_extra_info("socket")
    assert given.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENT_SECONDS * 1000
    assert given.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    await connection.close()


async def test_sessions_that_were_left_end(database: str) -> None:
    async with Database(settings_for(database)) as opened:
        single = await opened.connect("test")
        for source in (single, opened.pool):
            assert await source.fetchval("SHOW client_connection_check_interval") == "5s"
        await single.close()


async def test_the_pool_parts_with_a_server_that_is_no_longer_written_to(database: str) -> None:
    async with Database(settings_for(database)) as opened:
        before = await opened.pool.fetchval("SELECT pg_backend_pid()")
        assert await opened.pool.fetchval("SELECT pg_backend_pid()") == before
        # As an operator does to it who is about to have another server take over.
        await opened.pool.execute("SET default_transaction_read_only = on")
        after = await opened.pool.fetchval("SELECT pg_backend_pid()")
        assert after != before
        assert await opened.pool.fetchval("SHOW transaction_read_only") == "off"


async def test_nothing_is_written_to_settle_where_no_standby_is_waited_for(database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        assert await connection.fetchval("SELECT pg_current_xact_id_if_assigned()") is None
        async with connection.transaction():
            await settle(connection)
            assert await connection.fetchval("SELECT pg_current_xact_id_if_assigned()") is None
    finally:
        await connection.close()


async def test_a_connection_that_is_ended_between_two_answers_is_a_broken_connection(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = await open_pool(database, min_size=1, max_size=1, statement_cache_size=0)
    try:
        async with pool.acquire() as proxy:
            connection: Any = proxy._con
            prepared = connection._get_statement

            async def ended(*arguments: Any, **options: Any) -> Any:
                statement = await prepared(*arguments, **options)
                connection.terminate()
                return statement

            monkeypatch.setattr(type(connection), "_get_statement", staticmethod(ended))
            with pytest.raises(asyncpg.ConnectionDoesNotExistError) as caught:
                await connection.fetchval("SELECT 1")
            assert connection_broke(caught.value)
    finally:
        pool.terminate()
