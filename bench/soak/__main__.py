"""``python -m bench.soak --minutes N``: tables of all games play, are watched and go; what the service holds is noted.

The services run as one process, as ``macao up`` has them. Every few seconds the resident memory of the service and of
PostgreSQL, the service's descriptors and the connections to PostgreSQL are noted. Flat is what does not grow between
the second quarter and the last: caches fill first.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import time
from statistics import mean
from typing import Final

import asyncpg
import psutil
import uvloop
from msgspec import Struct
from rich.console import Console

from bench.machine import machine
from bench.results import Graph, Line, keep
from bench.serving.servers import Process, Servers, servers, serving
from services.cli.loading.crowd import Wanted, put_under_load
from services.cli.loading.tally import Tally
from services.runtime.migrate import migrate

NOTE_SECONDS: Final = 5.0
EPISODE_SECONDS: Final = 60.0
"""After so long all tables and players go and others come, as people do."""


class Note(Struct, frozen=True):
    """What the service holds at a moment."""

    minutes: float
    service_mb: float
    postgres_mb: float
    descriptors: int
    connections: int
    moves: int


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="A long mixed load.")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--think", type=float, default=0.05, help="seconds before each move, on average")
    given = parser.parse_args()
    with servers() as ready:
        notes, tallies = uvloop.run(_run(ready, given))
    _print(notes, tallies, given)
    columns = (
        ("resident memory", "MB", ("service_mb", "postgres_mb")),
        ("held", "", ("descriptors", "connections")),
    )
    graphs = [
        Graph(title, "minutes", unit, [
            Line(name.replace("_mb", ""), [(note.minutes, float(getattr(note, name))) for note in notes])
            for name in names
        ])
        for title, unit, names in columns
    ]  # fmt: skip
    keep("soak", machine("asyncpg", "uvicorn"), [], graphs)


async def _run(ready: Servers, given: argparse.Namespace) -> tuple[list[Note], list[Tally]]:
    await migrate(ready.database_url)
    notes: list[Note] = []
    tallies: list[Tally] = []
    with serving("all", ready) as service:
        noting = asyncio.create_task(_note_for_ever(ready, service, notes, tallies))
        begun = time.monotonic()
        while (left := given.minutes * 60 - (time.monotonic() - begun)) > 1:
            wanted = Wanted(
                service.url, given.tables, seconds=min(EPISODE_SECONDS, left), think_seconds=given.think,
                seed=len(tallies) + 1,
            )  # fmt: skip
            tallies.append(await put_under_load(wanted, Console(file=io.StringIO())))
            print(
                f"\r{notes[-1].minutes:.0f} minutes, {notes[-1].service_mb:.0f} MB", end="", file=sys.stderr
            )
        noting.cancel()
        await asyncio.gather(noting, return_exceptions=True)
    print(file=sys.stderr)
    return notes, tallies


async def _note_for_ever(ready: Servers, service: Process, notes: list[Note], tallies: list[Tally]) -> None:
    process = psutil.Process(service.pid)
    connection = await asyncpg.connect(ready.database_url)
    begun = time.monotonic()
    while True:
        tree = [process, *process.children(recursive=True)]
        notes.append(
            Note(
                minutes=round((time.monotonic() - begun) / 60, 2),
                service_mb=round(sum(map(_resident_mb, tree)), 1),
                postgres_mb=round(_postgres_mb(ready.postgres_pid), 1),
                descriptors=process.num_fds(),
                connections=await connection.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'macao%'"
                ),
                moves=sum(tally.moves.count for tally in tallies),
            )
        )
        await asyncio.sleep(NOTE_SECONDS)


def _resident_mb(process: psutil.Process) -> float:
    try:
        return process.memory_info().rss / 1e6
    except psutil.NoSuchProcess:
        return 0.0


def _postgres_mb(pid: int | None) -> float:
    """Return what PostgreSQL's processes hold, what they share counted once for each: good for its course only."""
    if pid is None:
        return 0.0
    process = psutil.Process(pid)
    return sum(map(_resident_mb, [process, *process.children(recursive=True)]))


def _print(notes: list[Note], tallies: list[Tally], given: argparse.Namespace) -> None:
    print(machine("asyncpg", "uvicorn"))
    moves = sum(tally.moves.count for tally in tallies)
    print(
        f"{notes[-1].minutes:.0f} minutes, {given.tables} tables at a time, {moves:,} moves, "
        f"{sum(tally.matches for tally in tallies):,} matches to the end"
    )
    refused: dict[str, int] = {}
    for tally in tallies:
        for name, count in (tally.refusals + tally.broken).items():
            refused[name] = refused.get(name, 0) + count
    print(f"refused or broken off: {refused or 'nothing'}\n")
    quarter = max(1, len(notes) // 4)
    second, last = notes[quarter : 2 * quarter] or notes, notes[-quarter:]
    print(f"{'mean of the quarter':22}{'second':>10}{'last':>10}{'last to second':>16}")
    for name in ("service_mb", "postgres_mb", "descriptors", "connections"):
        before, after = (mean(float(getattr(note, name)) for note in part) for part in (second, last))
        print(f"{name:22}{before:>10.1f}{after:>10.1f}{after / before if before else 0:>16.2f}")


if __name__ == "__main__":
    main()
