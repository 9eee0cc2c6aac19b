"""``python -m bench.move``: moves a second and their latency, beside the floor, in short rounds that take turns.

Two game servers of other people play along where Node.js is there; without it, the bench says so and goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, ExitStack
from statistics import median
from typing import Final

import uvloop

from bench.installing import NotToBeHadError
from bench.machine import machine
from bench.move.crowd import Pace, Scripts, measure
from bench.move.rivals import PROJECT, RIVALS, SOCKET, VERSIONS, at_rival, over_sockets, rival
from bench.node import Node, installed
from bench.results import Bar, Chart, keep
from bench.serving.http_client import post
from bench.serving.rehearsed import Stage
from bench.serving.servers import Process, Servers, running, servers, serving
from services.cli.embedded.ports import free_port
from services.runtime.migrate import migrate
from services.runtime.settings import Settings

GAMES: Final = {"dice-race": 4, "cards-places": 4}
"""What is played, by how many."""
FLOORS: Final = {
    "pool": "floor: Litestar, one INSERT through a pool",
    "unreset": "the same, without the pool's reset",
    "gathered": "the same, INSERTs gathered",
}
TITLES: Final = FLOORS | RIVALS
PACKAGES: Final = ("asyncpg", "litestar", "uvicorn", "uvloop")
AHEAD: Final = 400
"""Requests that a client may have left of its last match."""
REQUEST: Final = post("/matches/m_01KB9YABCDEFGHJKMNPQRSTVWX/moves", b'{"move":{"type":"roll"}}')

Figures = dict[tuple[str, int], list[Pace]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.move", description="Moves a second, with the floor."
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--moves", type=int, default=4000, help="of one figure of one round, at 16 clients")
    parser.add_argument("--database", help="a PostgreSQL to use, as a URL; without it an embedded one")
    parser.add_argument("--floors", nargs="*", default=list(FLOORS), choices=list(FLOORS))
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=list(RIVALS))
    given = parser.parse_args()
    node = _node(given)
    with servers(given.database) as ready:
        figures = uvloop.run(_measured(ready, given, node))
    where = machine(*PACKAGES) + (f"; {node.versions(*VERSIONS)}" if node else "")
    print(where)
    _print(figures, given)
    _print_ratios(figures, max(given.clients))
    keep("move", where, _charts(figures, given))


def _node(given: argparse.Namespace) -> Node | None:
    """Return Node.js with the other servers' packages; None where they are not wanted or not to be had."""
    if not given.rivals:
        return None
    try:
        return installed(PROJECT)
    except NotToBeHadError as error:
        print(f"boardgame.io and Colyseus are left out: {error}")
        return None


async def _measured(ready: Servers, given: argparse.Namespace, node: Node | None) -> Figures:
    await migrate(ready.database_url)
    figures: Figures = {}
    with ExitStack() as stack:
        engine = stack.enter_context(serving("engine", ready))
        floors = {kind: stack.enter_context(_floor(ready, kind)) for kind in given.floors}
        rivals = (
            {kind: stack.enter_context(rival(ready, kind, node)) for kind in given.rivals} if node else {}
        )
        settings = Settings.from_environment(ready.environment)
        async with Stage(settings, "127.0.0.1", engine.port) as stage:
            rehearsed = {game: Scripts() for game in GAMES}
            for game, seats in GAMES.items():  # what the last matches of all clients have left at the end
                made = await stage.matches(game, seats, max(given.clients) * AHEAD)
                rehearsed[game].add(one.requests for one in made)
            for number in range(given.rounds):
                for clients in given.clients:
                    moves = given.moves if clients > 1 else given.moves // 4
                    for game, seats in GAMES.items():
                        made = await stage.matches(game, seats, moves + clients)
                        rehearsed[game].add(one.requests for one in made)
                        pace = await measure(engine, ready.postgres_pid, clients, moves, rehearsed[game])
                        figures.setdefault((game, clients), []).append(pace)
                    for kind, process in floors.items():
                        scripts = Scripts([[REQUEST] * (moves + 1)] * clients)
                        pace = await measure(process, ready.postgres_pid, clients, moves, scripts)
                        figures.setdefault((kind, clients), []).append(pace)
                    for kind, process in rivals.items():
                        pace = await at_rival(process, kind, clients, moves)
                        figures.setdefault((kind, clients), []).append(pace)
                    pace = await over_sockets(engine, ready.postgres_pid, stage, clients, moves)
                    figures.setdefault((SOCKET, clients), []).append(pace)
                print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    return figures


def _rivals(
    stack: ExitStack, ready: Servers, given: argparse.Namespace, node: Node | None
) -> dict[str, Process]:
    """Start the other servers; one that does not start is left out."""
    started: dict[str, Process] = {}
    if node is None:
        return started
    for kind in given.rivals:
        try:
            started[kind] = stack.enter_context(rival(ready, kind, node))
        except RuntimeError as error:
            print(f"{RIVALS[kind]} is left out: {error}")
    return started


def _floor(ready: Servers, kind: str) -> AbstractContextManager[Process]:
    port = free_port()
    command = [sys.executable, "-P", "-m", "bench.move.floor", str(port), kind]
    return running(command, ready.environment, port, ready.directory / f"floor-{kind}.log")


def _print(figures: Figures, given: argparse.Namespace) -> None:
    print(f"load average {os.getloadavg()[0]:.1f}; medians of {given.rounds} rounds of {given.moves} moves\n")
    columns = (("clients", 8), ("a second", 10), ("lowest", 8), ("highest", 8), ("p50 ms", 8), ("p99 ms", 8),
               ("own us", 8), ("PG us", 8), ("driver us", 11), ("to floor", 9), ("p50 to floor", 13))  # fmt: skip
    print(f"{'':44}" + "".join(f"{name:>{width}}" for name, width in columns))
    for clients in given.clients:
        base = figures.get(("pool", clients), [])
        for (name, count), paces in figures.items():
            if count != clients:
                continue
            rates = [pace.a_second for pace in paces]
            ratios = [ours.a_second / floor.a_second for ours, floor in zip(paces, base, strict=False)]
            medians = [
                ours.percentile_ms(0.5) / floor.percentile_ms(0.5)
                for ours, floor in zip(paces, base, strict=False)
            ]
            cells = (
                f"{count:>8}", f"{median(rates):>10,.0f}", f"{min(rates):>8,.0f}", f"{max(rates):>8,.0f}",
                f"{median(map(_median_ms, paces)):>8.2f}", f"{median(p.percentile_ms(0.99) for p in paces):>8.2f}",
                f"{median(map(_own_us, paces)):>8.0f}",
                f"{median(1e6 * p.server_seconds / p.answered for p in paces):>8.0f}",
                f"{median(1e6 * p.driver_seconds / p.answered for p in paces):>11.0f}",
                f"{median(ratios) if ratios else 0:>9.2f}", f"{median(medians) if medians else 0:>13.2f}",
            )  # fmt: skip
            print(f"{TITLES.get(name, name):44}" + "".join(cells))


def _print_ratios(figures: Figures, clients: int) -> None:
    """Print what is asked of ours beside the other servers: medians of the ratios of each round."""
    print()
    for ours, theirs in (*((game, "boardgame") for game in GAMES), (SOCKET, "colyseus")):
        pairs = list(zip(figures.get((ours, clients), []), figures.get((theirs, clients), []), strict=False))
        if pairs:
            rates = median(mine.a_second / other.a_second for mine, other in pairs)
            medians = median(mine.percentile_ms(0.5) / other.percentile_ms(0.5) for mine, other in pairs)
            work = median(_own_us(mine) / _own_us(other) for mine, other in pairs)
            print(
                f"{ours} to {TITLES[theirs]}, {clients} clients: moves a second {rates:.2f}, "
                f"median latency {medians:.2f}, processor of the process {work:.2f}"
            )


def _charts(figures: Figures, given: argparse.Namespace) -> list[Chart]:
    charts: list[Chart] = []
    for clients in given.clients:
        mine = {TITLES.get(name, name): paces for (name, count), paces in figures.items() if count == clients}
        for title, unit, read in (
            ("moves a second", "a second", _rate),
            ("median latency", "ms", _median_ms),
            ("processor, of the process that answers", "microseconds a move", _own_us),
        ):
            bars = [Bar(name, [read(pace) for pace in paces]) for name, paces in mine.items()]
            charts.append(Chart(f"{title}, {clients} client{'s' if clients > 1 else ''}", unit, bars))
    return charts


def _rate(pace: Pace) -> float:
    return pace.a_second


def _median_ms(pace: Pace) -> float:
    return pace.percentile_ms(0.5)


def _own_us(pace: Pace) -> float:
    return 1e6 * pace.own_seconds / pace.answered


if __name__ == "__main__":
    main()
