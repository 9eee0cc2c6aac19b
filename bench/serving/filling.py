"""Logs of millions of events, made inside the server from one match that was played: for what depends on size.

Streams, events and commands are there as in life, each match under ids of its own; but their hashes are no chain. So a
filled log serves to be appended to, followed and sealed, not to be audited.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.serving.servers import Servers, serving
from services.runtime.migrate import migrate

MATCHES_AT_A_TIME: Final = 2_000
CATCH_UP_SECONDS: Final = 3_600.0

_EVENTS: Final = """
INSERT INTO macao_log.events (position, version, at_ms, recorded_at, schema, stream, type, actor, command,
                              previous, hash, cause, body, seal, salt, sealed)
SELECT $1 + (n - $2) * m.count + e.version, e.version, e.at_ms, now(), e.schema, 'm_' || lpad(n::text, 26, '0'), e.type,
       e.actor, 'c_' || md5(n || e.command), sha256(convert_to(n || ' ' || e.version - 1, 'UTF8')),
       sha256(convert_to(n || ' ' || e.version, 'UTF8')), e.cause, e.body, e.seal, e.salt, e.sealed
FROM generate_series($2::bigint, $3::bigint) AS n, macao_log.events AS e,
     (SELECT count(*) FROM macao_log.events WHERE stream = $4) AS m
WHERE e.stream = $4
ORDER BY 1
"""
_COMMANDS: Final = """
INSERT INTO macao_log.commands (id, stream, version, request_hash, answer)
SELECT 'c_' || md5(n || c.id), 'm_' || lpad(n::text, 26, '0'), c.version, c.request_hash, c.answer
FROM generate_series($1::bigint, $2::bigint) AS n, macao_log.commands AS c WHERE c.stream = $3
"""
_STREAMS: Final = """
INSERT INTO macao_log.streams (id, kind, version, hash)
SELECT 'm_' || lpad(n::text, 26, '0'), 'm', s.version, sha256(convert_to(n || ' ' || s.version, 'UTF8'))
FROM generate_series($1::bigint, $2::bigint) AS n, macao_log.streams AS s WHERE s.id = $3
"""


async def another_database(ready: Servers, name: str) -> Servers:
    """Make a database beside the one that is there, and return the servers with it."""
    connection = await asyncpg.connect(ready.database_url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    url = urlunsplit(urlsplit(ready.database_url)._replace(path=f"/{name}"))
    directory = ready.directory / name
    (directory / "checkpoints").mkdir(parents=True)
    await migrate(url)
    return Servers(url, ready.redis_url, directory, ready.postgres_pid)


async def fill(database_url: str, pattern: str, events: int) -> None:
    """Make copies of a finished match until the log has so many events. Nobody else may append meanwhile."""
    connection: asyncpg.Connection[Any] = await asyncpg.connect(database_url)
    await connection.execute("SET synchronous_commit = off")
    length: int = await connection.fetchval(
        "SELECT count(*) FROM macao_log.events WHERE stream = $1", pattern
    )
    tail: int = await connection.fetchval("SELECT max(position) FROM macao_log.events")
    number = 1
    while tail < events:
        last = number + min(MATCHES_AT_A_TIME, -(-(events - tail) // length)) - 1
        async with connection.transaction():
            await connection.execute(_EVENTS, tail, number, last, pattern, timeout=None)
            await connection.execute(_COMMANDS, number, last, pattern)
            await connection.execute(_STREAMS, number, last, pattern)
        tail += (last - number + 1) * length
        number = last + 1
        print(f"\r{tail:,} events", end="", file=sys.stderr)
    print(file=sys.stderr)
    await connection.execute("VACUUM (ANALYZE) macao_log.events, macao_log.streams, macao_log.commands")
    await connection.close()


async def catch_up(ready: Servers) -> None:
    """Let an engine run until everybody who follows the log has come to its end, and all of it is sealed.

    Raises:
        TimeoutError: that takes more than an hour.
    """
    connection: asyncpg.Connection[Any] = await asyncpg.connect(ready.database_url)
    with serving("engine", ready):
        async with asyncio.timeout(CATCH_UP_SECONDS):
            while not await connection.fetchval(  # noqa: ASYNC110 - another process works on it
                "SELECT (SELECT min(position) FROM macao_log.subscriptions) >= max(position)"
                " AND (SELECT max(size) FROM macao_tree.checkpoints) >= max(position) FROM macao_log.events"
            ):
                await asyncio.sleep(0.5)
    await connection.execute("CHECKPOINT")
    await connection.close()
