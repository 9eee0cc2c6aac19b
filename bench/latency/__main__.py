"""``python -m bench.latency``: from an acknowledged move to the spectator's and to the board's server-sent event.

Moves go to one engine, spectators watch at another, the board is a third process: what is measured crosses processes.
``--no-redis`` takes the doorbell away: then everything has to arrive within the polling interval.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import uvloop

from bench.latency.cluster import cluster
from bench.latency.course import Course, percentile
from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.cli.embedded import EmbeddedPostgres, EmbeddedValkey
from services.runtime.migrate import migrate

NOBODY = "redis://127.0.0.1:9/0"
PERCENTILES = {"median": 0.5, "90th": 0.9, "99th": 0.99, "most": 1.0}


async def run(database_url: str, redis_url: str, given: argparse.Namespace, output: Path) -> None:
    """Measure and print."""
    await migrate(database_url)
    async with cluster(database_url, redis_url, given.poll_seconds, output) as at:
        course = Course(at, given.tables, given.moves)
        async with course.watched() as seated:
            await course.play(seated, given.seconds)
            await course.arrival()
    doorbell = "no Redis" if given.no_redis else "doorbell by Valkey"
    print(machine("asyncpg", "uvloop"))
    print(f"load average {os.getloadavg()[0]:.1f}; {doorbell}, polling every {given.poll_seconds:g} s")
    print(
        f"{given.tables} tables, {given.seconds:g} s, {given.moves:g} moves a second asked for, "
        f"{course.moves / given.seconds:.0f} made; ms\n"
    )
    print(f"{'to':<12} {'events':>8} {'median':>8} {'p90':>8} {'p99':>8} {'most':>8}")
    for name, values in (("spectator", course.spectator_seconds), ("board", course.board_seconds)):
        cells = "".join(f" {1000 * percentile(values, share):>8.1f}" for share in (0.5, 0.9, 0.99, 1.0))
        print(f"{name:<12} {len(values):>8,}{cells}")
    charts = [
        Chart(f"from the acknowledgement to the {name}, {doorbell}", "ms", [
            Bar(title, [1000 * percentile(values, share)]) for title, share in PERCENTILES.items()
        ])
        for name, values in (("spectator", course.spectator_seconds), ("board", course.board_seconds))
    ]  # fmt: skip
    keep("latency", machine("asyncpg", "uvloop"), charts)


def main() -> None:
    """Read the arguments, and run against embedded servers."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description="Delay of live streams.")
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--moves", type=float, default=200.0, help="a second, of all tables together")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--poll-seconds", type=float, default=1.0)
    parser.add_argument("--no-redis", action="store_true", help="nobody rings between processes")
    given = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
            )
        )
        directory.chmod(0o755)  # for root, the account that runs the servers has to get in
        database_url = stack.enter_context(EmbeddedPostgres(directory)).url
        redis_url = NOBODY if given.no_redis else stack.enter_context(EmbeddedValkey(directory)).url
        output = directory / "services.log"
        try:
            uvloop.run(run(database_url, redis_url, given, output))
        except BaseException:
            print(output.read_text("utf-8")[-4000:] if output.exists() else "")
            raise


if __name__ == "__main__":
    main()
