"""``python -m bench.append``: run the comparison against an embedded server, or against ``--database URL``.

Three parts: appends with commits as the machine makes them; the same with commits of 5 ms; and matches replayed from
the database. What is compared with is left out, with a line that says so, where it cannot be had.

A slow commit is one whose journal takes long to reach the disk. PostgreSQL plays that by itself (``commit_delay``, with
no other transaction needed): before it flushes, the first to commit sleeps, whoever else has come by then goes along,
and locks are held until it is over. A proxy that delays answers would hold no lock, and a trigger that sleeps would let
all sleep side by side.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import uvloop

from bench.append import replaying
from bench.append.contenders import CONTENDERS, PLAIN_TABLE, measure
from bench.append.pgbench import find_pgbench, measure_pgbench
from bench.append.replaying import Reads, replayed
from bench.append.rivals import Eventsourcing, Measure, MessageDb
from bench.installing import NotToBeHadError
from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.cli.embedded import EmbeddedPostgres
from services.runtime.migrate import migrate
from services.runtime.web.server import COLLECT_EVERY

OURS: Final = "coalescer"
PGBENCH: Final = "plain, pgbench"
EVENTSOURCING: Final = "eventsourcing"
MESSAGE_DB: Final = "message-db"
SLOW_COMMIT_MICROSECONDS: Final = 5_000
PGBENCH_CLIENTS: Final = 16
"""Where the plain INSERTs are taken for the ratio."""

Figures = dict[tuple[str, int], list[float]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.append", description="Appends a second, with baselines."
    )
    parser.add_argument(
        "--callers", type=int, nargs="+", default=[1, 16, 64, 128], help="how many write at a time"
    )
    parser.add_argument(
        "--slow-callers", type=int, nargs="*", default=[16, 128], help="the same, with commits of 5 ms"
    )
    parser.add_argument("--rounds", type=int, default=5, help="each figure is the median of so many")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long one figure of one round takes")
    parser.add_argument("--replayed", type=int, default=100_000, help="events to replay; 0: none")
    parser.add_argument(
        "--database",
        help="a PostgreSQL to use, as a URL of its superuser; without it an embedded one is started",
    )
    given = parser.parse_args()
    with ExitStack() as stack:
        url = given.database
        if url is None:
            directory = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
                )
            )
            directory.chmod(0o755)  # for root, the account that runs the server has to get in
            url = stack.enter_context(EmbeddedPostgres(directory)).url
        uvloop.run(_run(url, given))


async def _run(url: str, given: argparse.Namespace) -> None:
    contenders, prepared = _contenders()
    where = machine("asyncpg", "uvloop")
    print(where)
    print("one event of some 300 bytes an append")
    print(f"events a second, median of {given.rounds} rounds of {given.seconds:g} s (lowest - highest)\n")
    await _prepare(url, prepared)
    figures = await _measured(url, contenders, given.callers, given)
    print(f"commits as they come; PostgreSQL {await _shown(url, 'server_version')}, "
          f"synchronous_commit {await _shown(url, 'synchronous_commit')}\n")  # fmt: skip
    _print(figures, given.callers)
    charts = _charts(figures, given.callers, "")
    slow: Figures = {}
    if given.slow_callers:
        async with _another(url, "bench_slow", SLOW_COMMIT_MICROSECONDS) as slow_url:
            await _prepare(slow_url, prepared)
            slow = await _measured(slow_url, contenders, given.slow_callers, given)
        print(f"\ncommits of {SLOW_COMMIT_MICROSECONDS / 1000:g} ms\n")
        _print(slow, given.slow_callers)
        charts += _charts(slow, given.slow_callers, ", commits of 5 ms")
    print()
    _print_ratios(figures, slow)
    if given.replayed:
        async with _another(url, "bench_replayed", 0) as replay_url:
            await migrate(replay_url)
            gc.freeze()  # as the service has it
            gc.set_threshold(*COLLECT_EVERY)
            reads = await replayed(replay_url, given.replayed, given.rounds)
        _print_reads(reads, given)
        charts += _charts_of_reads(reads)
    keep("append", where, charts)


def _contenders() -> tuple[dict[str, Measure], list[Eventsourcing | MessageDb]]:
    """Return everybody who can take part, and those that have a schema of their own."""
    contenders: dict[str, Measure] = {
        name: partial(measure, contender) for name, contender in CONTENDERS.items()
    }
    pgbench = find_pgbench()
    if pgbench is not None:
        contenders[PGBENCH] = partial(measure_pgbench, pgbench)
    prepared: list[Eventsourcing | MessageDb] = []
    for name, make in ((EVENTSOURCING, Eventsourcing), (MESSAGE_DB, partial(MessageDb, pgbench))):
        try:
            one = make()
        except NotToBeHadError as error:
            print(f"{name} is left out: {error}")
            continue
        prepared.append(one)
        contenders[name] = one.measure
    return contenders, prepared


async def _prepare(url: str, prepared: list[Eventsourcing | MessageDb]) -> None:
    await migrate(url)
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    await connection.execute(PLAIN_TABLE)
    await connection.close()
    for one in prepared:
        await one.prepare(url)


@asynccontextmanager
async def _another(url: str, name: str, commit_microseconds: int) -> AsyncIterator[str]:
    """Make a database on the same server, with commits that take so much longer; drop it in the end."""
    name = f"{name}_{os.getpid()}"
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name}")
    try:
        if commit_microseconds:
            await connection.execute(f"ALTER DATABASE {name} SET commit_delay = {commit_microseconds}")
            await connection.execute(f"ALTER DATABASE {name} SET commit_siblings = 0")
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await connection.close()


async def _shown(url: str, setting: str) -> str:
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    try:
        value: str = await connection.fetchval(f"SHOW {setting}")
        return value
    finally:
        await connection.close()


async def _measured(
    url: str, contenders: dict[str, Measure], callers: list[int], given: argparse.Namespace
) -> Figures:
    figures: Figures = {}
    for _ in range(given.rounds):
        for count in callers:
            for name, write in contenders.items():
                figures.setdefault((name, count), []).append(await write(url, count, given.seconds))
    return figures


def _print(figures: Figures, callers: list[int]) -> None:
    names = list(dict.fromkeys(name for name, _ in figures))
    print(f"{'callers':>8}" + "".join(f"{name:>25}" for name in names))
    for count in callers:
        cells = "".join(
            f"{median(values):>9,.0f} ({min(values):,.0f}-{max(values):,.0f})".rjust(25)
            for values in (figures[name, count] for name in names)
        )
        print(f"{count:>8}{cells}")


def _print_ratios(figures: Figures, slow: Figures) -> None:
    """Print what is asked of the coalescer: its best crowd beside the others' best, by the medians."""
    ours = _best(figures, OURS)
    if (PGBENCH, PGBENCH_CLIENTS) in figures:
        plain = median(figures[PGBENCH, PGBENCH_CLIENTS])
        print(f"coalescer to plain INSERTs by pgbench at {PGBENCH_CLIENTS} clients: {ours / plain:.2f}")
    for name in (EVENTSOURCING, MESSAGE_DB):
        theirs = _best(figures, name)
        if theirs:
            print(f"coalescer to {name} at its fastest: {ours / theirs:.2f}")
    for name, count in slow:
        if name == OURS:
            print(f"coalescer at {count} callers, commits of 5 ms: {median(slow[name, count]):,.0f} a second")
    print(f"load average {os.getloadavg()[0]:.1f}")


def _best(figures: Figures, name: str) -> float:
    return max((median(values) for (who, _), values in figures.items() if who == name), default=0.0)


def _charts(figures: Figures, callers: list[int], more: str) -> list[Chart]:
    return [
        Chart(
            f"{count} callers{more}",
            "events a second",
            [Bar(name, values) for (name, at), values in figures.items() if at == count],
        )
        for count in callers
    ]


# Replay


def _print_reads(reads: Reads, given: argparse.Namespace) -> None:
    print(
        f"\n{given.replayed:,} events of matches read from the database, pages of {replaying.PAGE:,}; events a second "
        "of the clock,\nand of this process' processor; the ratios are to whole rows and decoder alone, medians."
        "\nBy stream fewer columns are read to be folded: a line says what that is worth, and no ratio is to it.\n"
    )
    print(f"{'':46}{'a second':>10}{'ratio':>8}{'a busy second':>15}{'ratio':>8}")
    for (way, what), rounds in reads.items():
        base = reads[way, replaying.BARE]
        clock = median(one.a_second / other.a_second for one, other in zip(rounds, base, strict=True))
        busy = median(
            one.a_busy_second / other.a_busy_second for one, other in zip(rounds, base, strict=True)
        )
        print(
            f"{way + ', ' + what:46}{median(one.a_second for one in rounds):>10,.0f}{clock:>8.2f}"
            f"{median(one.a_busy_second for one in rounds):>15,.0f}{busy:>8.2f}"
        )


def _charts_of_reads(reads: Reads) -> list[Chart]:
    return [
        Chart(
            f"matches read from the database, {way}",
            "events a second",
            [
                Bar(what, [one.a_second for one in rounds])
                for (at, what), rounds in reads.items()
                if at == way
            ],
        )
        for way in (replaying.BY_STREAM, replaying.IN_PAGES)
    ]


if __name__ == "__main__":
    main()
