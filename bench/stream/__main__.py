"""``python -m bench.stream``: from publication to receipt by thousands of clients, and what a stream and a match weigh.

A publication is timed from the moment at which its request is sent: for ours a move, which is decided and committed
before anybody hears of it; for what is compared with, a POST that only publishes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import resource
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from time import perf_counter
from typing import Final

import msgspec
import psutil
import uvloop

from bench.machine import machine
from bench.results import Bar, Chart, keep
from bench.serving.http_client import Connection, post
from bench.serving.rehearsed import Rehearsed, Stage
from bench.serving.servers import Process, Servers, running, servers, serving
from bench.stream.listeners import hang_up, listen
from services.cli.embedded.ports import free_port
from services.runtime.migrate import migrate
from services.runtime.settings import Settings

OURS: Final = "Macao, a match's stream"
EVENTS: Final = "Litestar, ServerSentEvent"
BYTES: Final = "Litestar, bytes encoded once"
SETTLE_SECONDS: Final = 1.0
AHEAD: Final = 200
PACKAGES: Final = ("litestar", "uvicorn", "uvloop")

Publish = Callable[[], Awaitable[int]]
Delays = dict[tuple[str, float], list[list[float]]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.stream", description="Fan-out of server-sent events."
    )
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--rates", type=float, nargs="+", default=[1.0, 5.0], help="publications a second")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="how long one figure of one round takes")
    parser.add_argument("--idle", type=int, default=10_000, help="idle streams, for their weight")
    parser.add_argument("--matches", type=int, default=2000, help="live matches, for their weight")
    given = parser.parse_args()
    _allow_files(given.idle + 1000)
    with servers() as ready:
        delays, weights = uvloop.run(_measured(ready, given))
    _print(delays, weights, given)
    charts = [
        Chart(f"99th percentile, {rate:g} a second to {given.clients:,} clients", "ms", [
            Bar(name, [1000 * percentile(one, 0.99) for one in rounds])
            for (name, at), rounds in delays.items() if at == rate
        ])
        for rate in given.rates
    ]  # fmt: skip
    charts.append(Chart("weight", "kB", [Bar(name, [kilobytes]) for name, kilobytes in weights.items()]))
    keep("stream", machine(*PACKAGES), charts)


async def _measured(ready: Servers, given: argparse.Namespace) -> tuple[Delays, dict[str, float]]:
    await migrate(ready.database_url)
    delays: Delays = {}
    with ExitStack() as stack:
        engine = stack.enter_context(serving("engine", ready))
        floor = stack.enter_context(_floor(ready))
        settings = Settings.from_environment(ready.environment)
        async with Stage(settings, "127.0.0.1", engine.port) as stage:
            weights = await _weights(engine, stage, given)  # first: what was freed would hide what is taken
            for number in range(given.rounds):
                for rate in given.rates:
                    # Long enough: nobody leaves before the end, and a round of it is several hundred moves.
                    match = await stage.match("dice-race", 4, {"chips_to_win": 20})
                    contenders = (
                        (OURS, engine, f"/v1/matches/{match.match}/stream?after=1000000", _mover(match)),
                        (EVENTS, floor, "/events", _publisher()),
                        (BYTES, floor, "/bytes", _publisher()),
                    )
                    for name, process, path, messages in contenders:
                        one = await _fan_out(process, path, messages, rate, given)
                        delays.setdefault((name, rate), []).append(one)
                print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    return delays, weights


def _floor(ready: Servers) -> AbstractContextManager[Process]:
    port = free_port()
    command = [sys.executable, "-P", "-m", "bench.stream.floor", str(port)]
    return running(command, ready.environment, port, ready.directory / "floor.log")


def _mover(match: Rehearsed) -> Iterator[tuple[int, bytes]]:
    """Give the version of the first event of each move, and the request."""
    return zip((version + 1 for version in match.versions), match.requests, strict=True)


def _publisher() -> Iterator[tuple[int, bytes]]:
    """Give ids, and requests with as much data as an event of a match has."""
    for number in itertools.count(1):
        data = f'{{"version":{number},"type":"rolled","padding":"{"x" * 300}"}}'
        yield number, post("/publish", msgspec.json.encode({"id": number, "data": data}))


async def _fan_out(
    process: Process, path: str, messages: Iterator[tuple[int, bytes]], rate: float, given: argparse.Namespace
) -> list[float]:
    sent: dict[int, float] = {}
    delays: list[float] = []
    listeners = await listen(process.port, path, given.clients, sent, delays)
    connection = await Connection.to("127.0.0.1", process.port)
    try:
        await asyncio.sleep(SETTLE_SECONDS)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        count = int(rate * given.seconds)
        for number in range(count):
            await asyncio.sleep(max(0.0, begun + number / rate - loop.time()))
            version, request = next(messages)
            sent[version] = perf_counter()
            await connection.ask(request)
        deadline = loop.time() + 30
        while len(delays) < count * given.clients and loop.time() < deadline:  # noqa: ASYNC110 - counted there
            await asyncio.sleep(0.05)
    finally:
        connection.close()
        hang_up(listeners)
    if len(delays) < count * given.clients:
        raise RuntimeError(f"only {len(delays):,} of {count * given.clients:,} events have come")
    await asyncio.sleep(SETTLE_SECONDS)
    return delays


async def _weights(engine: Process, stage: Stage, given: argparse.Namespace) -> dict[str, float]:
    """Return the kilobytes of an idle stream and of a live match, by what the process takes more for many."""
    process = psutil.Process(engine.pid)
    weights: dict[str, float] = {}
    for game, seats in (("dice-race", 4), ("cards-places", 4)):
        await stage.looked_at(game, seats, AHEAD)  # what is not of matches is there by then
        before = process.memory_info().rss
        await stage.looked_at(game, seats, given.matches)
        grown = process.memory_info().rss - before
        weights[f"a live match of {game}, of {given.matches:,}"] = grown / given.matches / 1000
    match = await stage.match("dice-race", 2, {})
    before = process.memory_info().rss
    listeners = await listen(engine.port, f"/v1/matches/{match.match}/stream", given.idle, {}, [])
    await asyncio.sleep(SETTLE_SECONDS)
    streams = process.memory_info().rss - before
    hang_up(listeners)
    return weights | {f"an idle stream, of {given.idle:,}": streams / given.idle / 1000}


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def percentile(values: list[float], share: float) -> float:
    """Return the value below which so large a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _print(delays: Delays, weights: dict[str, float], given: argparse.Namespace) -> None:
    print(machine(*PACKAGES))
    print(
        f"load average {os.getloadavg()[0]:.1f}; {given.clients:,} clients of one process, {given.rounds} rounds of"
    )
    print(
        f"{given.seconds:g} s; ms from the request that publishes to its receipt by a client, medians of the rounds\n"
    )
    print(f"{'':32}{'a second':>10}{'p50':>8}{'p90':>8}{'p99':>8}{'most':>8}{'p99 to ServerSentEvent':>24}")
    for (name, rate), rounds in delays.items():
        cells = "".join(
            f"{sorted(1000 * percentile(one, share) for one in rounds)[len(rounds) // 2]:>8.1f}"
            for share in (0.5, 0.9, 0.99, 1.0)
        )
        base = delays[EVENTS, rate]
        ratios = sorted(percentile(a, 0.99) / percentile(b, 0.99) for a, b in zip(rounds, base, strict=True))
        print(f"{name:32}{rate:>10g}{cells}{ratios[len(ratios) // 2]:>24.2f}")
    print()
    for name, kilobytes in weights.items():
        print(f"{name:45}{kilobytes:>8.1f} kB")


if __name__ == "__main__":
    main()
