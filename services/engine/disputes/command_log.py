"""The commands log: who sent what, when it came in, and what was answered, refused commands included.

Written beside the way of a move and never on it. ``note`` puts an entry into a queue in memory and returns; a task
writes what has gathered as one statement. If the database is slow or away, the queue fills up to its bound, and what
does not fit is counted and left out. A process that dies takes with it what it had not written: at most the refusals of
the last moments, as every accepted command is an event already.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter as Tally
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import asyncpg
import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from services.contracts.events.dispute import Arrived
from services.engine.disputes.entries import Entry
from services.runtime.clock import Clock
from services.runtime.database import Database

QUEUE_MAX: Final = 8_192
"""The most entries that wait in one process."""

SHARE_MAX: Final = 1_024
"""The most of them that one player may have there: nobody's flood drowns what others need as evidence."""

BATCH_MAX: Final = 200
"""The most that are written at a time: moves of the same process wait while a batch is put together."""

WRITE_SECONDS: Final = 0.25
"""How long entries gather; also what a crash can lose of them."""

RETRY_SECONDS: Final = 1.0
ATTEMPTS_MAX: Final = 30
"""How often a batch is tried before it is given up; new entries go on waiting behind it."""

KEEP_SECONDS: Final = 3_600.0
"""How often partitions are made and dropped."""

FLUSH_SECONDS: Final = 2.0

_INSERT: Final = """
insert into macao_engine.command_log
    (arrived_ms, match, player, command, move, if_match, status, code, clause, version, answered_ms, request_id)
select * from unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::integer[], $8::text[],
    $9::text[], $10::bigint[], $11::bigint[], $12::text[]
)
"""
_COLUMNS: Final = "arrived_ms, player, command, move, if_match, status, code, clause, version, answered_ms"
_AROUND: Final = f"""
select * from (
    (select {_COLUMNS}, number from macao_engine.command_log
     where match = $1 and player = any($2) and arrived_ms between $3 and $4
     order by arrived_ms desc, number desc limit $6)
    union all
    (select {_COLUMNS}, number from macao_engine.command_log
     where match = $1 and player = any($2) and arrived_ms > $4 and arrived_ms <= $5
     order by arrived_ms, number limit $6)
) as around
order by arrived_ms, number
"""  # noqa: S608 - no value in it
_BY_COMMAND: Final = (
    f"select {_COLUMNS} from macao_engine.command_log where match = $1 and command = $2"  # noqa: S608 - as above
    " order by arrived_ms, number limit 1"
)

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_logger: Final = logging.getLogger(__name__)


class CommandLog:
    """The commands log of one process: it takes entries in, and reads what all processes have written."""

    def __init__(self, database: Database, clock: Clock, keep_days: int, registry: CollectorRegistry) -> None:
        """Write into a database, keep entries for so many days, and count in a process's metrics."""
        self._database = database
        self._clock = clock
        self._keep_days = keep_days
        self._waiting: deque[Entry] = deque()
        self._shares: Tally[str] = Tally()
        self._writing = asyncio.Lock()
        self._flushing: set[asyncio.Task[None]] = set()
        self._written = Counter(
            "macao_command_log_written", "Commands written to the commands log", registry=registry
        )
        self._dropped = Counter(
            "macao_command_log_dropped",
            "Commands that the commands log left out",
            ("reason",),
            registry=registry,
        )
        self._gauge = Gauge(
            "macao_command_log_waiting",
            "Commands that wait to be written to the commands log",
            registry=registry,
        )
        self._gauge.set_function(lambda: len(self._waiting))

    def note(self, entry: Entry) -> None:
        """Take an entry in; never waits and never fails."""
        player = entry.arrived.player
        if len(self._waiting) >= QUEUE_MAX:
            self._dropped.labels("queue").inc()
        elif self._shares[player] >= SHARE_MAX:
            self._dropped.labels("share").inc()
        else:
            self._waiting.append(entry)
            self._shares[player] += 1

    async def run(self) -> None:
        """Write until cancelled, then write what is left."""
        loop = asyncio.get_running_loop()
        keep_at = loop.time()
        try:
            while True:
                if loop.time() >= keep_at:
                    keep_at = loop.time() + (KEEP_SECONDS if await self._keep() else RETRY_SECONDS)
                await self._write()
                await asyncio.sleep(WRITE_SECONDS)
        finally:
            await self.flush()
            for task in self._flushing:
                task.cancel()

    async def flush(self) -> None:
        """Have this process's entries written before something is read; gives up after a moment."""
        writing = asyncio.create_task(self._write())
        self._flushing.add(writing)
        writing.add_done_callback(self._flushing.discard)
        # Not cancelled when it takes long: nobody would know whether the batch was committed.
        await asyncio.wait({writing}, timeout=FLUSH_SECONDS)
        if self._waiting:
            _logger.warning("%d entries of the commands log still wait", len(self._waiting))

    async def around(
        self, match: str, players: Sequence[str], from_ms: int, at_ms: int, to_ms: int, limit: int
    ) -> list[Arrived]:
        """Return what these players sent in a time: at most ``limit`` up to ``at_ms``, and as many after it."""
        rows = await self._database.pool.fetch(_AROUND, match, list(players), from_ms, at_ms, to_ms, limit)
        return [_arrived(row) for row in rows]

    async def find(self, match: str, command: str) -> Arrived | None:
        """Return the first arrival of a command, None where nothing is known of it."""
        row = await self._database.pool.fetchrow(_BY_COMMAND, match, command)
        return None if row is None else _arrived(row)

    async def _write(self) -> None:
        async with self._writing:
            while self._waiting:
                batch = [self._waiting[at] for at in range(min(len(self._waiting), BATCH_MAX))]
                if await self._insert(batch):
                    self._written.inc(len(batch))
                else:
                    self._dropped.labels("database").inc(len(batch))
                # Only now: what is being written still counts against the bounds.
                for entry in batch:
                    self._waiting.popleft()
                    self._release(entry.arrived.player)

    def _release(self, player: str) -> None:
        self._shares[player] -= 1
        if self._shares[player] <= 0:
            del self._shares[player]

    async def _insert(self, batch: Sequence[Entry]) -> bool:
        """Write a batch; False when it has been given up.

        A connection that breaks after the commit has it written twice; whoever reads takes alike entries for one.
        """
        for _ in range(ATTEMPTS_MAX):
            try:
                await self._database.pool.execute(_INSERT, *_columns(batch))
            except asyncpg.CheckViolationError:
                # A day that has no partition yet. A batch may begin before midnight and end after it.
                for at_ms in sorted({entry.arrived.at_ms // 86_400_000 for entry in batch}):
                    await self._keep(at_ms * 86_400_000)
            except asyncpg.DataError:
                _logger.exception("the commands log cannot hold a batch")
                return False
            except (
                OSError,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                asyncpg.InternalClientError,
            ) as error:
                _logger.warning("the commands log waits for the database: %r", error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return True
        return False

    async def _keep(self, now_ms: int | None = None) -> bool:
        """Make the partitions that are needed and drop those that are not any more."""
        try:
            dropped: int = await self._database.pool.fetchval(
                "select macao_engine.keep_command_log($1, $2)",
                self._clock.now_ms() if now_ms is None else now_ms,
                self._keep_days,
            )
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            _logger.warning("the partitions of the commands log could not be kept: %r", error)
            return False
        if dropped:
            _logger.info("%d days of the commands log were dropped", dropped)
        return True


def _columns(batch: Sequence[Entry]) -> list[list[Any]]:
    rows = [
        (
            entry.arrived.at_ms, entry.match, entry.arrived.player, entry.arrived.command,
            None if entry.arrived.move is None else _encode(entry.arrived.move), entry.arrived.if_match,
            entry.arrived.status, entry.arrived.code, entry.arrived.clause, entry.arrived.version,
            entry.arrived.answered_ms, entry.request_id,
        )
        for entry in batch
    ]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)]


def _arrived(row: asyncpg.Record) -> Arrived:
    move = row["move"]
    return Arrived(
        at_ms=row["arrived_ms"], player=row["player"], command=row["command"],
        move=None if move is None else _decode(move), if_match=row["if_match"], status=row["status"],
        code=row["code"], clause=row["clause"], version=row["version"], answered_ms=row["answered_ms"],
    )  # fmt: skip
