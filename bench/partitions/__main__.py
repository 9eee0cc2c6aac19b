"""``python -m bench.partitions``: the events in one table, and in ranges of positions, side by side."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

import asyncpg

from bench.machine import machine
from services.cli.embedded import EmbeddedPostgres

BATCH: Final = 64
STREAM_EVENTS: Final = 40
STREAMS_AT_ONCE: Final = 50
BODY_BYTES: Final = 120

COLUMNS: Final = (
    'position bigint NOT NULL, version bigint NOT NULL, stream text COLLATE "C" NOT NULL, hash bytea NOT NULL,'
    " body bytea NOT NULL"
)  # fmt: skip
INSERT: Final = (
    "INSERT INTO {table} SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bytea[]),"
    " unnest($5::bytea[])"
)  # fmt: skip
STREAM: Final = "SELECT version, hash, body FROM {table} WHERE stream = $1 AND version > 0 ORDER BY version"
TAIL: Final = "SELECT max(position) FROM {table}"


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.partitions", description="Events with and without ranges."
    )
    parser.add_argument("--events", type=int, default=200_000, help="how many are written into each table")
    parser.add_argument("--ranges", type=int, nargs="+", default=[1, 16, 128], help="into how many ranges")
    parser.add_argument("--reads", type=int, default=400, help="so many streams are read back")
    given = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
            )
        )
        directory.chmod(0o755)  # for root, the account that runs the server has to get in
        url = stack.enter_context(EmbeddedPostgres(directory)).url
        asyncio.run(_run(url, given.events, given.ranges, given.reads))


async def _run(url: str, events: int, ranges: list[int], reads: int) -> None:
    connection: Any = await asyncpg.connect(url)
    print(machine("asyncpg"))
    print(
        f"{events:,} events in batches of {BATCH}; {reads} streams of {STREAM_EVENTS} read back, medians in ms\n"
    )
    print(f"{'table':>14}{'events/s':>12}{'read a stream':>16}{'its end':>10}{'tail':>8}")
    await _line(connection, "one_table", None, events, reads)
    for count in ranges:
        await _line(connection, f"ranges_{count}", count, events, reads)
    await connection.close()


async def _line(connection: Any, table: str, ranges: int | None, events: int, reads: int) -> None:
    await _make(connection, table, ranges, events)
    began = time.perf_counter()
    for batch in _batches(events):
        await connection.execute(INSERT.format(table=table), *batch)
    written = events / (time.perf_counter() - began)
    await connection.execute(f"VACUUM ANALYZE {table}")
    streams = [_stream(Random(at).randrange(events // STREAM_EVENTS)) for at in range(reads)]
    whole = [await _ms(connection, STREAM.format(table=table), stream) for stream in streams]
    end = [
        await _ms(connection, STREAM.format(table=table).replace("> 0", f"> {STREAM_EVENTS - 1}"), stream)
        for stream in streams
    ]
    tail = [await _ms(connection, TAIL.format(table=table)) for _ in range(reads)]
    print(f"{table:>14}{written:>12,.0f}{median(whole):>16.3f}{median(end):>10.3f}{median(tail):>8.3f}")
    if ranges is not None and ranges > 1:
        await _twice(connection, table, events)


async def _make(connection: Any, table: str, ranges: int | None, events: int) -> None:
    """Make a table; of the keys each range has its own, as PostgreSQL has no unique index over several."""
    if ranges is None:
        await connection.execute(
            f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (position), UNIQUE (stream, version))"
        )
        return
    await connection.execute(
        f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (position)) PARTITION BY RANGE (position)"
    )
    size = -(-events // ranges)
    for at in range(ranges):
        part = f"{table}_{at}"
        begin, end = at * size + 1, (at + 1) * size + 1
        await connection.execute(
            f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES FROM ({begin}) TO ({end})"
        )
        await connection.execute(f"CREATE UNIQUE INDEX ON {part} (stream, version)")


async def _twice(connection: Any, table: str, events: int) -> None:
    """Write a version of a stream for a second time, into the last range; one table would refuse it."""
    row = await connection.fetchrow(f"SELECT version, stream, hash, body FROM {table} WHERE position = 1")
    await connection.execute(f"DELETE FROM {table} WHERE position = {events}")
    await connection.execute(f"INSERT INTO {table} VALUES ({events}, $1, $2, $3, $4)", *row)
    print(f"{'':>14}  took version {row[0]} of {row[1]} twice")


def _batches(events: int) -> Iterator[list[list[Any]]]:
    """Give the events as an installation would have them: many streams grow side by side."""
    order = [
        (stream, version)
        for first in range(0, events // STREAM_EVENTS, STREAMS_AT_ONCE)
        for version in range(1, STREAM_EVENTS + 1)
        for stream in range(first, min(first + STREAMS_AT_ONCE, events // STREAM_EVENTS))
    ]
    for at in range(0, len(order), BATCH):
        batch = order[at : at + BATCH]
        yield [
            [at + number for number in range(1, len(batch) + 1)],
            [version for _, version in batch],
            [_stream(stream) for stream, _ in batch],
            [os.urandom(32) for _ in batch],
            [os.urandom(BODY_BYTES) for _ in batch],
        ]


def _stream(number: int) -> str:
    return f"m_{number:026d}"


async def _ms(connection: Any, sql: str, *arguments: Any) -> float:
    began = time.perf_counter()
    await connection.fetch(sql, *arguments)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
