"""A log of many matches, written by the owner of the tables straight into them; sealed by the real sealer."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import asyncpg
from asyncpg import Connection

from bench.audit.matches import commands, name_of, secret_of
from services.cli.auditing import LogFinding, Report, audit_log
from services.contracts.envelope import Event
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.chance import commitment_of
from services.runtime.clock import SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.settings import Settings
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree import Sealer
from services.runtime.vault import Vault

AT_A_TABLE: Final = 64
"""So many matches are played side by side, so that their events stand mixed in the log as they do in life."""

COPY_EVENTS: Final = 20_000
SECRET_KEY: Final = "A" * 43

COLUMNS: Final = (
    "position", "version", "at_ms", "recorded_at", "schema", "stream", "type", "actor", "command", "previous", "hash",
    "cause", "body", "seal", "salt", "sealed",
)  # fmt: skip


async def fill(url: str, mix: dict[str, int], matches: int, seed: int) -> int:
    """Write so many matches, and return how many events that were.

    Args:
        url: a migrated database that is empty.
        mix: games with their weights.
        matches: how many in all.
        seed: everything follows from it.
    """
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET synchronous_commit = off")
        now = await connection.fetchval("SELECT now()")
        rows: list[tuple[Any, ...]] = []
        heads: list[tuple[str, str, int, bytes]] = []
        positions = count(1)
        position = 0
        for event in _mixed(mix, matches, seed):
            position = next(positions)
            rows.append((
                position, event.version, event.at_ms, now, event.schema, event.stream, event.type, event.actor,
                event.command, event.previous, event.hash, event.cause, event.body,
                event.seal, event.salt, event.sealed,
            ))  # fmt: skip
            if event.type == "seed-revealed":
                heads.append((event.stream, "m", event.version, event.hash))
            if len(rows) == COPY_EVENTS:
                await _copy(connection, rows, heads)
        await _copy(connection, rows, heads)
        await _commitments(connection, matches)
        await connection.execute("ANALYZE")
    finally:
        await connection.close()
    return position


async def seal(url: str, events: int, directory: Path) -> float:
    """Have the service seal and sign the log, and return how many seconds that took."""
    settings = Settings(
        database_url=url, secret_key=SECRET_KEY, checkpoint_seconds=0, checkpoint_directory=str(directory)
    )
    async with Database(settings) as database, EventLog(database) as log:
        clock = SystemClock()
        keyring = Keyring(database, Vault(SECRET_KEY, system_entropy), clock, system_entropy)
        await keyring.open()
        sealer = Sealer(log, None, keyring, clock)
        begun = time.perf_counter()
        sealing = asyncio.create_task(sealer.run())
        sealed = "SELECT coalesce(max(size), 0) FROM macao_tree.checkpoints"
        while await database.pool.fetchval(sealed) < events:  # noqa: ASYNC110 - another task, and a table
            await asyncio.sleep(0.05)
        seconds = time.perf_counter() - begun
        sealing.cancel()
        await asyncio.gather(sealing, return_exceptions=True)
    return seconds


class Watch(Report):
    """Prints how far the audit is, and how much memory the process has, at intervals."""

    def __init__(self, events: int, lines: int = 20) -> None:
        super().__init__(_tell, self._progress)
        self._total = 2 * events
        self._step = max(1, self._total // lines)
        self._done = 0
        self._begun = time.perf_counter()
        self.memories_mb: list[float] = []

    def _progress(self, more: int) -> None:
        before, self._done = self._done, self._done + more
        if before // self._step != self._done // self._step:
            seconds = time.perf_counter() - self._begun
            self.memories_mb.append(memory_mb())
            print(
                f"  {self._done / self._total:>5.0%}  {seconds:>8.1f} s  {self._done / seconds:>10,.0f} events/s"
                f"  {self.tally.matches:>9,} matches  RSS {self.memories_mb[-1]:>6.1f} MB",
                flush=True,
            )


async def audit(url: str, events: int, directory: Path) -> tuple[Watch, float, float]:
    """Audit the log as ``macao audit --all`` does; return what was seen, and seconds by the wall and the processor."""
    watch = Watch(events)
    connection = await asyncpg.connect(url)
    begun, processor = time.perf_counter(), time.process_time()
    try:
        await audit_log(connection, CATALOGUE, watch, outside=directory)
    finally:
        await connection.close()
    return watch, time.perf_counter() - begun, time.process_time() - processor


def memory_mb() -> float:
    """Return the resident memory of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return pages * resource.getpagesize() / 1e6


def _mixed(mix: dict[str, int], matches: int, seed: int) -> Iterator[Event]:
    """Yield the events of all matches, a command at a time from one of those that are played just now."""
    random = Random(seed)
    games, weights = list(mix), list(mix.values())
    numbers = iter(range(1, matches + 1))
    tables: list[Iterator[list[Event]]] = []
    while True:
        while len(tables) < AT_A_TABLE and (number := next(numbers, None)) is not None:
            tables.append(commands(random.choices(games, weights)[0], number))
        if not tables:
            return
        at = random.randrange(len(tables))
        events = next(tables[at], None)
        if events is None:
            tables[at] = tables[-1]
            tables.pop()
        else:
            yield from events


async def _copy(
    connection: Connection[Any], rows: list[tuple[Any, ...]], heads: list[tuple[str, str, int, bytes]]
) -> None:
    await connection.copy_records_to_table("events", schema_name="macao_log", columns=COLUMNS, records=rows)
    await connection.copy_records_to_table(
        "streams", schema_name="macao_log", columns=("id", "kind", "version", "hash"), records=heads
    )
    rows.clear()
    heads.clear()


async def _commitments(connection: Connection[Any], matches: int) -> None:
    """Publish the commitments that the matches were played under."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(1, matches + 1):
            name, secret = name_of(number), secret_of(number)
            commitment = commitment_of(name, secret)
            yield number, name, f"c_{number}", "bench", commitment, b"", secret.hex(), "played"

    columns = ("number", "match", "command", "game", "commitment", "seed_sealed", "seed", "state")
    await connection.copy_records_to_table(
        "commitments", schema_name="macao_engine", columns=columns, records=rows()
    )


def _tell(finding: LogFinding) -> None:
    print(f"  found: {finding}")
