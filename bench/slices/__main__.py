"""``python -m bench.slices``: a projection of independent streams fed by 1, 2, 4 and 8 slices of one log.

Each slice works the whole log off, one after the other. What is counted are seconds of a processor, in the reader and
in the server process that serves it: they say on a busy machine, too, what a slice saves and what all of them cost.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
import psutil
from msgspec import Struct

from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.cli.embedded import EmbeddedPostgres
from services.contracts.envelope import Draft, Head, chain
from services.contracts.ids import MATCH, make_id
from services.projections.history.tables import History
from services.runtime.database import Database
from services.runtime.log import Append, EventLog
from services.runtime.migrate import migrate
from services.runtime.settings import Settings

WINDOW = 1_000
STARTED = (
    b'{"type":"match-started","match":"%s","table":"t_0","game":"dice-race","rules_version":1,"options":{},'
    b'"seats":[{"player":"p_1","seed":"-","bot":null},{"player":"p_2","seed":"-","bot":null}],"turn_seconds":null,'
    b'"rated":true,"visibility":"public","commitment":"00","commitment_number":1}'
)
ROLLED = b'{"type":"rolled","seat":0,"draw":{"kind":"dice","round":1,"op":0,"dice":[3]},"total":3}'
ENDED = b'{"type":"match-ended","places":[1,2]}'


async def fill(log: EventLog, events: int) -> None:
    """Append matches of 40 events each, of which the history reads four, side by side."""
    bodies = [ROLLED] * 12 + [b'{"type":"round-ended","round":1,"winners":[0]}']

    async def match(number: int) -> None:
        stream = make_id(MATCH, 1_700_000_000_000 + number, number.to_bytes(10, "big"))
        told = [STARTED % stream.encode(), *(bodies * 3)[:38], ENDED]
        drafts = [Draft(body.split(b'"')[3].decode(), 1, body) for body in told]
        command = f"c_{number:026d}"
        drawn = chain(Head(), drafts, stream=stream, actor="x", command=command, at_ms=number, cause=None)
        await log.append(Append(stream, "m", Head(), tuple(drawn), command, bytes(32), b"{}"))

    for first in range(0, events // 40, 500):
        await asyncio.gather(*(match(number) for number in range(first, min(first + 500, events // 40))))


class Cost(Struct, frozen=True):
    """Seconds of a processor that a slice took, in the reader and in its server process; and the events it saw."""

    reader: float
    server: float
    seen: int


async def work_off(database: Database, log: EventLog, at: int, slices: int) -> Cost:
    """Feed a slice into the history."""
    connection: Any = await database.connect("bench")
    server = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
    history = History()
    position = seen = 0
    before, before_there = time.process_time(), server.cpu_times()
    try:
        while True:
            if slices == 1:
                events = await log.read_all(position, WINDOW, connection=connection)
                end = events[-1].position if events else position
            else:
                page = await log.read_slice(position, WINDOW * slices, at, slices, connection)
                events, end = page.events, page.position
            if end == position:
                there = server.cpu_times()
                used = there.user + there.system - before_there.user - before_there.system
                return Cost(time.process_time() - before, used, seen)
            async with connection.transaction():
                await history.apply(connection, events)
            position, seen = end, seen + len(events)
    finally:
        await connection.close()


async def run(url: str, events: int, rounds: int) -> None:
    """Measure and print."""
    await migrate(url)
    owner = await asyncpg.connect(url)
    async with Database(Settings(database_url=url, secret_key="")) as database:
        async with EventLog(database) as log:
            await fill(log, events)
        await owner.execute("VACUUM ANALYZE macao_log.events")
        print(machine("asyncpg"))
        print(f"{await log.head_position():,} events, median of {rounds} rounds; seconds of a processor\n")
        print(
            f"{'slices':>6} {'a reader':>10} {'its server':>11} {'all readers':>12} {'all servers':>12} {'seen':>10}"
        )
        costs_by_slices: dict[int, list[list[Cost]]] = {}
        for slices in (1, 2, 4, 8):
            found = costs_by_slices[slices] = []
            for _ in range(rounds):
                await owner.execute("TRUNCATE macao_projections.history, macao_projections.history_seats")
                found.append([await work_off(database, log, at, slices) for at in range(slices)])
            reader = median(sum(cost.reader for cost in costs) for costs in found)
            server = median(sum(cost.server for cost in costs) for costs in found)
            print(
                f"{slices:>6} {reader / slices:>10.2f} {server / slices:>11.2f} {reader:>12.2f} {server:>12.2f} "
                f"{sum(cost.seen for cost in found[0]):>10,}",
                flush=True,
            )
    await owner.close()
    keep("slices", machine("asyncpg"), _charts(costs_by_slices))


def _charts(costs_by_slices: dict[int, list[list[Cost]]]) -> list[Chart]:
    readers = [
        Bar(f"{slices} slices", [sum(cost.reader for cost in costs) / slices for costs in found])
        for slices, found in costs_by_slices.items()
    ]
    everything = [
        Bar(f"{slices} slices", [sum(cost.reader + cost.server for cost in costs) for costs in found])
        for slices, found in costs_by_slices.items()
    ]
    return [
        Chart("one reader of so many", "seconds of the processor", readers),
        Chart("all readers and their servers", "seconds of the processor", everything),
    ]


def main() -> None:
    """Read the arguments, and run against an embedded server."""
    parser = argparse.ArgumentParser(prog="python -m bench.slices", description="Slices of one ordered log.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
            )
        )
        directory.chmod(0o755)  # for root, the account that runs the server has to get in
        asyncio.run(run(stack.enter_context(EmbeddedPostgres(directory)).url, given.events, given.rounds))


if __name__ == "__main__":
    main()
