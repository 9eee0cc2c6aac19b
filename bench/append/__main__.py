"""``python -m bench.append``: run the comparison against an embedded server, or against ``--database URL``."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

import asyncpg
import uvloop

from bench.append.contenders import CONTENDERS, PLAIN_TABLE, measure
from bench.append.pgbench import find_pgbench, measure_pgbench
from bench.machine import machine
from services.cli.embedded import EmbeddedPostgres
from services.runtime.migrate import migrate

OURS: Final = "coalescer"
PLAIN: Final = "plain INSERT"
PGBENCH: Final = "plain, pgbench"

Figures = dict[tuple[str, int], list[float]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.append", description="Appends a second, with baselines."
    )
    parser.add_argument(
        "--callers", type=int, nargs="+", default=[1, 16, 64, 128], help="how many write at a time"
    )
    parser.add_argument("--rounds", type=int, default=5, help="each figure is the median of so many")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long one figure of one round takes")
    parser.add_argument(
        "--database", help="a PostgreSQL to use, as a URL; without it an embedded one is started"
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
        uvloop.run(_run(url, given.callers, given.rounds, given.seconds))


async def _run(url: str, callers: list[int], rounds: int, seconds: float) -> None:
    await migrate(url)
    connection = await asyncpg.connect(url)
    await connection.execute(PLAIN_TABLE)
    server, commits = (
        await connection.fetchval("SHOW server_version"),
        await connection.fetchval("SHOW synchronous_commit"),
    )
    await connection.close()
    print(machine("asyncpg", "uvloop"))
    print(f"PostgreSQL {server}, synchronous_commit {commits}; one event of some 300 bytes an append")
    print(f"events a second, median of {rounds} rounds of {seconds:g} s (lowest - highest)\n")

    pgbench = find_pgbench()
    figures: Figures = {}
    for _ in range(rounds):
        for count in callers:
            for name, contender in CONTENDERS.items():
                figures.setdefault((name, count), []).append(await measure(contender, url, count, seconds))
            if pgbench is not None:
                figures.setdefault((PGBENCH, count), []).append(
                    await measure_pgbench(pgbench, url, count, seconds)
                )
    _print(figures, callers)


def _print(figures: Figures, callers: list[int]) -> None:
    names = list(dict.fromkeys(name for name, _ in figures))
    print(f"{'callers':>8}" + "".join(f"{name:>26}" for name in names) + f"{'x plain':>9}{'x pgbench':>11}")
    for count in callers:
        cells = "".join(
            f"{median(values):>11,.0f} ({min(values):,.0f}-{max(values):,.0f})".rjust(26)
            for values in (figures[name, count] for name in names)
        )
        ours = median(figures[OURS, count])
        ratios = [
            f"{ours / median(figures[name, count]):.1f}" if (name, count) in figures else "-"
            for name in (PLAIN, PGBENCH)
        ]
        print(f"{count:>8}{cells}{ratios[0]:>9}{ratios[1]:>11}")


if __name__ == "__main__":
    main()
