"""``python -m bench.growth``: the latency of moves over a small log and over a large one, in rounds that take turns.

Two databases of one server, an engine over each. How large the large one can be is a matter of the disk and of
patience: an event takes a kilobyte with its indexes, and all is sealed and followed before anything is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AsyncExitStack
from statistics import median

import asyncpg
import uvloop

from bench.machine import machine
from bench.move.crowd import Pace, Scripts, measure
from bench.results import Bar, Chart, keep
from bench.serving.filling import another_database, catch_up, fill
from bench.serving.rehearsed import Stage
from bench.serving.servers import Servers, servers, serving
from services.runtime.settings import Settings

SMALL, LARGE = "small", "large"
AHEAD = 600
"""Moves that the clients may have left of their last matches, each."""

Figures = dict[tuple[str, int], list[Pace]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="Moves as the log grows.")
    parser.add_argument("--small", type=int, default=100_000, help="events in the small log")
    parser.add_argument("--large", type=int, default=5_000_000, help="events in the large one")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--moves", type=int, default=2000, help="of one figure of one round, at 16 clients")
    given = parser.parse_args()
    with servers() as ready:
        figures, sizes = uvloop.run(_measured(ready, given))
    print(machine("asyncpg", "uvloop"))
    print(
        f"load average {os.getloadavg()[0]:.1f}; medians of {given.rounds} rounds of {given.moves} moves of dice-race"
    )
    for name, (events, size) in sizes.items():
        print(f"{name}: {events:,} events before, {size}")
    print(
        f"\n{'clients':>8}{'log':>8}{'a second':>10}{'p50 ms':>9}{'p99 ms':>9}{'p50 to small':>14}{'p99 to small':>14}"
    )
    for clients in given.clients:
        small = figures[SMALL, clients]
        for name in (SMALL, LARGE):
            paces = figures[name, clients]
            p50, p99 = (
                median(
                    one.percentile_ms(share) / base.percentile_ms(share)
                    for one, base in zip(paces, small, strict=True)
                )
                for share in (0.5, 0.99)
            )
            print(
                f"{clients:>8}{name:>8}{median(p.a_second for p in paces):>10,.0f}"
                f"{median(p.percentile_ms(0.5) for p in paces):>9.2f}"
                f"{median(p.percentile_ms(0.99) for p in paces):>9.2f}{p50:>14.2f}{p99:>14.2f}"
            )
    charts = [
        Chart(f"median latency of a move, {clients} clients", "ms", [
            Bar(f"{name}, {sizes[name][0]:,} events", [p.percentile_ms(0.5) for p in figures[name, clients]])
            for name in (SMALL, LARGE)
        ])
        for clients in given.clients
    ]  # fmt: skip
    keep("growth", machine("asyncpg", "uvloop"), charts)


async def filled(ready: Servers, name: str, events: int) -> Servers:
    """Return the servers with a log of so many events, followed and sealed to its end."""
    own = await another_database(ready, name)
    with serving("engine", own) as engine:
        settings = Settings.from_environment(own.environment)
        async with Stage(settings, "127.0.0.1", engine.port) as stage:
            pattern = await stage.match("dice-race", 4, {})
            scripts = Scripts([pattern.requests])
            await measure(engine, None, 1, len(pattern.requests) - 1, scripts)
    await fill(own.database_url, pattern.match, events)
    await catch_up(own)
    return own


async def _measured(ready: Servers, given: argparse.Namespace) -> tuple[Figures, dict[str, tuple[int, str]]]:
    figures: Figures = {}
    sizes: dict[str, tuple[int, str]] = {}
    async with AsyncExitStack() as stack:
        engines = {}
        for name, events in ((SMALL, given.small), (LARGE, given.large)):
            own = await filled(ready, name, events)
            connection = await asyncpg.connect(own.database_url)
            sizes[name] = (
                await connection.fetchval("SELECT max(position) FROM macao_log.events"),
                await connection.fetchval("SELECT pg_size_pretty(pg_database_size(current_database()))"),
            )
            await connection.close()
            engine = stack.enter_context(serving("engine", own))
            settings = Settings.from_environment(own.environment)
            stage = await stack.enter_async_context(Stage(settings, "127.0.0.1", engine.port))
            scripts = Scripts(
                one.requests for one in await stage.matches("dice-race", 4, max(given.clients) * AHEAD)
            )
            engines[name] = (engine, stage, scripts)
        for number in range(given.rounds):
            for clients in given.clients:
                moves = given.moves if clients > 1 else given.moves // 4
                for name in (SMALL, LARGE) if number % 2 else (LARGE, SMALL):
                    engine, stage, scripts = engines[name]
                    made = await stage.matches("dice-race", 4, moves + clients)
                    scripts.add(one.requests for one in made)
                    pace = await measure(engine, None, clients, moves, scripts)
                    figures.setdefault((name, clients), []).append(pace)
            print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    return figures, sizes


if __name__ == "__main__":
    main()
