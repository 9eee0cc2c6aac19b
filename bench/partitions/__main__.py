"""``python -m bench.partitions``: events in one table, in ranges of positions, and by a hash of the stream.

First bare tables, which have the keys that PostgreSQL can give them and nothing else; then logs, as the migrations make
them, written to by ``append_many``. What is compared takes turns, batch by batch and read by read, on one connection:
on a busy machine only the ratios say something.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final, TypeVar

import asyncpg
from msgspec import Struct

from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.cli.embedded import EmbeddedPostgres
from services.contracts.envelope import Draft, Head, chain
from services.contracts.ids import DEFAULT_LOG
from services.runtime.log import Append, codec
from services.runtime.logs.adding import cut
from services.runtime.migrate import migrate

BATCH: Final = 64
STREAM_EVENTS: Final = 40
STREAMS_AT_ONCE: Final = 50
BODY_BYTES: Final = 120
PAGE: Final = 1_000

COLUMNS: Final = (
    'position bigint NOT NULL, version bigint NOT NULL, stream text COLLATE "C" NOT NULL, hash bytea NOT NULL,'
    " body bytea NOT NULL"
)  # fmt: skip
INSERT: Final = (
    "INSERT INTO {table} SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bytea[]),"
    " unnest($5::bytea[])"
)  # fmt: skip
STREAM: Final = "SELECT version, hash, body FROM {table} WHERE stream = $1 AND version > $2 ORDER BY version"
ALL: Final = "SELECT version, stream, hash, body FROM {table} WHERE position > $1 ORDER BY position LIMIT $2"
TAIL: Final = "SELECT max(position) FROM {table}"
INDEXES: Final = """
SELECT sum(pg_indexes_size(oid)), max(pg_indexes_size(oid)) FROM pg_class
WHERE oid = $1::text::regclass OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::text::regclass)
"""
WRITERS: Final = (
    f"SELECT * FROM macao_log.append_many({', '.join(f'${n}' for n in range(1, codec.ARGUMENTS + 1))})"
)


T = TypeVar("T")


class Shape(Struct, frozen=True):
    """A way to lay out a table: ``kind`` is whole, ranges or hash."""

    kind: str
    parts: int = 1

    @property
    def table(self) -> str:
        """Its name."""
        return self.kind if self.kind == "whole" else f"{self.kind}_{self.parts}"


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.partitions", description="Events in one table, in ranges, and by a hash."
    )
    parser.add_argument("--events", type=int, default=120_000, help="how many are written into each table")
    parser.add_argument("--ranges", type=int, nargs="+", default=[16, 128], help="into how many ranges")
    parser.add_argument(
        "--hashes", type=int, nargs="+", default=[8, 16, 64], help="into how many by the hash"
    )
    parser.add_argument("--reads", type=int, default=400, help="so many streams and pages are read back")
    parser.add_argument("--batches", type=int, default=1_000, help="so many are appended to each log")
    given = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
            )
        )
        directory.chmod(0o755)  # for root, the account that runs the server has to get in
        url = stack.enter_context(EmbeddedPostgres(directory)).url
        asyncio.run(_run(url, given))


async def _run(url: str, given: argparse.Namespace) -> None:
    connection: Any = await asyncpg.connect(url)
    versions = machine("asyncpg")
    print(versions)
    shapes = [Shape("whole")]
    shapes += [Shape("ranges", count) for count in given.ranges]
    shapes += [Shape("hash", count) for count in given.hashes]
    written = await _write(connection, shapes, given.events)
    read = await _read(connection, shapes, given.events, given.reads)
    print(
        f"\n{given.events:,} events in batches of {BATCH}; medians in ms, of {given.reads} reads; "
        "bytes of indexes an event, and MB of those of the largest part\n"
    )
    print(
        f"{'table':>12}{'batch':>9}{'a stream':>10}{'its end':>9}{'page':>8}{'tail':>8}{'index':>8}{'largest':>9}"
        "  keeps"
    )
    for shape in shapes:
        table = shape.table
        every, largest = await connection.fetchrow(INDEXES, table)
        figures = [median(read[what][table]) for what in ("a stream", "its end", "page", "tail")]
        print(
            f"{table:>12}{median(written[table]):>9.3f}{figures[0]:>10.3f}{figures[1]:>9.3f}{figures[2]:>8.3f}"
            f"{figures[3]:>8.3f}{every / given.events:>8.0f}{largest / 1e6:>9.1f}  {await _keeps(connection, table)}"
        )
    await connection.close()
    appended = await _logs(url, [1, *given.hashes], given.batches)
    print(f"\nappend_many, {given.batches:,} batches of {BATCH} events for as many streams, medians in ms\n")
    print(f"{'partitions':>12}{'batch':>9}{'ratio':>8}")
    for count, values in appended.items():
        print(f"{count:>12}{median(values):>9.3f}{median(values) / median(appended[1]):>8.2f}")
    charts = [Chart("a batch into a bare table", "ms", _bars(written))]
    charts += [Chart(f"reading {what}", "ms", _bars(values)) for what, values in read.items()]
    charts.append(Chart("append_many by partitions", "ms", _bars({str(n): v for n, v in appended.items()})))
    keep("partitions", versions, charts)


async def _write(connection: Any, shapes: Sequence[Shape], events: int) -> dict[str, list[float]]:
    """Make the tables, and fill them in turn, a batch each; give the times of the batches."""
    for shape in shapes:
        await _make(connection, shape, events)
    times: dict[str, list[float]] = {shape.table: [] for shape in shapes}
    for turn, batch in enumerate(_batches(events)):
        for shape in _turned(shapes, turn):
            times[shape.table].append(await _ms(connection, INSERT.format(table=shape.table), *batch))
    for shape in shapes:
        await connection.execute(f"VACUUM ANALYZE {shape.table}")
    return times


async def _read(
    connection: Any, shapes: Sequence[Shape], events: int, reads: int
) -> dict[str, dict[str, list[float]]]:
    """Read streams, their ends, pages by position and the tail, of each table in turn."""
    times: dict[str, dict[str, list[float]]] = {
        what: {shape.table: [] for shape in shapes} for what in ("a stream", "its end", "page", "tail")
    }
    random = Random(1)
    for turn in range(reads):
        stream = _stream(random.randrange(events // STREAM_EVENTS))
        after = random.randrange(max(1, events - PAGE))
        for shape in _turned(shapes, turn):
            table = shape.table
            for what, sql, values in (
                ("a stream", STREAM, (stream, 0)),
                ("its end", STREAM, (stream, STREAM_EVENTS - 1)),
                ("page", ALL, (after, PAGE)),
                ("tail", TAIL, ()),
            ):
                times[what][table].append(await _ms(connection, sql.format(table=table), *values))
    return times


async def _make(connection: Any, shape: Shape, events: int) -> None:
    """Make a table with the keys that PostgreSQL can give it: over partitions only with what they are cut by."""
    table = shape.table
    if shape.kind == "whole":
        await connection.execute(
            f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (position), UNIQUE (stream, version))"
        )
        return
    if shape.kind == "hash":
        await connection.execute(
            f"CREATE TABLE {table} ({COLUMNS}, UNIQUE (stream, version)) PARTITION BY HASH (stream)"
        )
    else:
        await connection.execute(
            f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (position)) PARTITION BY RANGE (position)"
        )
    size = -(-events // shape.parts)
    for at in range(shape.parts):
        part = f"{table}_{at}"
        if shape.kind == "hash":
            bound, key = f"WITH (MODULUS {shape.parts}, REMAINDER {at})", "position"
        else:
            bound, key = f"FROM ({at * size + 1}) TO ({(at + 1) * size + 1})", "stream, version"
        await connection.execute(f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES {bound}")
        await connection.execute(f"CREATE UNIQUE INDEX ON {part} ({key})")


async def _keeps(connection: Any, table: str) -> str:
    """Try to write a version of a stream twice, and a position twice; say what was taken."""
    row = await connection.fetchrow(f"SELECT version, stream, hash, body FROM {table} WHERE position = 1")
    end: int = await connection.fetchval(TAIL.format(table=table))
    last = await connection.fetchrow(
        f"SELECT version, stream, hash, body FROM {table} WHERE position = {end}"
    )
    insert = f"INSERT INTO {table} VALUES ($1, $2, $3, $4, $5)"
    taken = []
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(f"DELETE FROM {table} WHERE position = {end}")  # room for it in the last range
    if await _goes(connection, insert, end, *row):
        taken.append("a version twice")
    await transaction.rollback()
    if any([await _goes(connection, insert, end, 1, f"m_{at}", *last[2:]) for at in range(64)]):
        taken.append("a position twice")
    return f"takes {' and '.join(taken)}" if taken else "both keys"


async def _goes(connection: Any, sql: str, *values: Any) -> bool:
    """Say whether a statement would be carried out; nothing of it stays."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(sql, *values)
    except asyncpg.UniqueViolationError:
        return False
    finally:
        await transaction.rollback()
    return True


async def _logs(url: str, counts: Sequence[int], batches: int) -> dict[int, list[float]]:
    """Append the same batches to logs in so many partitions, in turn; give the times."""
    connections: dict[int, Any] = {}
    for count in counts:
        admin: Any = await asyncpg.connect(url)
        await admin.execute(f"CREATE DATABASE log_{count}")
        await admin.close()
        there = f"{url.rpartition('/')[0]}/log_{count}"
        await migrate(there)
        if count > 1:
            await cut(there, DEFAULT_LOG, count)
        connections[count] = await asyncpg.connect(there)
    times: dict[int, list[float]] = {count: [] for count in counts}
    for batch in range(batches):
        arguments = codec.to_arguments(_appends(batch))
        for count in _turned(counts, batch):
            connection = connections[count]
            times[count].append(await _ms(connection, WRITERS, *arguments))
    for connection in connections.values():
        await connection.close()
    return times


def _appends(batch: int) -> list[Append]:
    """Return a batch of appends, each of which begins a stream."""
    made = []
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        stream, command = _stream(number), f"c_{number:026d}"
        drafts = [Draft("rolled", 1, b"y" * BODY_BYTES)]
        events = chain(Head(), drafts, stream=stream, actor="p_x", command=command, at_ms=0, cause=b"{}")
        made.append(Append(stream, "m", Head(), tuple(events), command, bytes(32), b"{}"))
    return made


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


def _turned(contenders: Sequence[T], turn: int) -> list[T]:
    """Have another begin each time: the first finds the machine as it was left by something else."""
    first = turn % len(contenders)
    return [*contenders[first:], *contenders[:first]]


def _stream(number: int) -> str:
    return f"m_{number:026d}"


def _bars(times: dict[str, list[float]]) -> list[Bar]:
    return [Bar(label, [median(values)]) for label, values in times.items()]


async def _ms(connection: Any, sql: str, *arguments: Any) -> float:
    began = time.perf_counter()
    await connection.fetch(sql, *arguments)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
