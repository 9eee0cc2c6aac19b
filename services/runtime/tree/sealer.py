"""The job that makes the tree grow behind the log, and signs a checkpoint now and then.

Nothing waits for it: events are committed without it, and it reads what is committed. Of several processes one works
and the others stand by, as with a subscription. What it keeps in memory is the right edge of the tree, a few hundred
hashes, and the tiles since the last checkpoint; after a start it reads the edge back from the tiles.

It never contradicts itself. Before it signs anything it finds the newest checkpoint, in the database and outside of it,
in the tree of today; if it cannot, the log was rewritten or has lost its end, and it stops and says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set as AbstractSet
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from asyncpg import Connection
from msgspec import Struct
from prometheus_client import CollectorRegistry, Gauge

from services.contracts.base64url import base64url
from services.contracts.checkpoint import Checkpoint
from services.contracts.loss import Loss, counts
from services.runtime.bus import Bell, Ear
from services.runtime.clock import Clock
from services.runtime.database import connection_broke, hang_up, settle
from services.runtime.log import EventLog
from services.runtime.log.tails import LostTails, Witness
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree.outside import OutsideFile, UnreadableLine
from services.runtime.tree.signing import is_signed, sign_checkpoint
from services.runtime.tree.store import MissingNodeError, TreeStore
from services.runtime.tree.tiles import Edge, Tile

_logger: Final = logging.getLogger(__name__)

PAGE_MAX: Final = 4096
"""The most events that are read at a time."""

TURN_MAX: Final = 256
"""The most of them that are taken in one turn of the loop: moves of the same process wait meanwhile."""

TILES_MAX: Final = 1024
"""So many complete tiles at most wait in memory for their checkpoint, or are written at a time: 8 MB."""

URGENT_SECONDS: Final = 1.0
"""How long at least lies between two checkpoints, even if somebody waits for one."""

PACE_SECONDS: Final = 0.25
"""How long at least lies between two reads once the end is reached: many leaves cost little more than one."""

STANDBY_SECONDS: Final = 1.0
BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 5.0


class RewrittenError(Exception):
    """The log is not the one that was signed."""


class LostEndError(RewrittenError):
    """The log is shorter than what was signed."""


class State(StrEnum):
    """What the sealer of this process is doing.

    ``contradiction`` stays until somebody looks into it: the log is not the one that was signed.
    """

    STANDBY = "standby"
    RUNNING = "running"
    CONTRADICTION = "contradiction"


class Status(Struct, frozen=True):
    """How it is going, as this process sees it. ``size``: so many events are in the tree."""

    state: State
    size: int
    last_error: str | None


class SealerGauges:
    """What the sealers of one process tell Prometheus, by log."""

    def __init__(self, registry: CollectorRegistry, tails: LostTails) -> None:
        self.tails: Final = tails
        self.sealed_events: Final = Gauge(
            "macao_sealed_events",
            "Events under the newest checkpoint of this process",
            ("log",),
            registry=registry,
        )
        self.contradictions: Final = Gauge(
            "macao_sealer_contradiction",
            "1: the log is not the one that was signed",
            ("log",),
            registry=registry,
        )


class Sealer:
    """Seals one log.

    Args:
        log: its database's settings say how often to sign, and where checkpoints are kept outside.
        urgent: types of events whose senders wait for a receipt: these are sealed within a second.
        gauges: where to count for Prometheus; None for nowhere.
    """

    def __init__(
        self,
        log: EventLog,
        bell: Bell | None,
        keyring: Keyring,
        clock: Clock,
        urgent: AbstractSet[str] = frozenset(),
        gauges: SealerGauges | None = None,
    ) -> None:
        database = self._database = log.database
        settings = database.settings
        self._log = log
        self._gauges = gauges
        self._bell = bell
        self._keyring = keyring
        self._clock = clock
        self._store = TreeStore(log.name, log.schema)
        self._outside = (
            OutsideFile(Path(settings.checkpoint_directory), log.name)
            if settings.checkpoint_directory
            else None
        )
        self._events_max = settings.checkpoint_events
        self._seconds = settings.checkpoint_seconds
        self._poll_seconds = settings.poll_seconds
        self._lock = sealer_lock(log.schema)
        self._urgent = sorted(urgent)
        self._urgent_sql = (
            f"SELECT EXISTS (SELECT FROM {log.schema}.events"  # noqa: S608 - no value in it
            " WHERE position > $1 AND position <= $2 AND type = ANY ($3))"
        )
        self._edge = Edge()
        self._complete: list[Tile] = []
        self._signed: Checkpoint | None = None
        self._not_before_ms = 0
        self._state = State.STANDBY
        self._last_error: str | None = None
        if gauges is not None:
            gauges.contradictions.labels(log.name).set(0)
            gauges.tails.tell(log.name, Witness.SEAL, lost=False)

    @property
    def status(self) -> Status:
        """How it is going."""
        return Status(self._state, self._edge.size, self._last_error)

    async def run(self) -> None:
        """Work until cancelled, or until the log contradicts a checkpoint; ``status`` says so.

        A database or a disk that is away is waited for, however long it takes.
        """
        pause_seconds = BACKOFF_FIRST_SECONDS
        while True:
            size_before = self._edge.size
            try:
                await self._lead()
            except RewrittenError as error:
                self._state, self._last_error = State.CONTRADICTION, str(error)
                if self._gauges is not None:
                    self._gauges.contradictions.labels(self._store.log).set(1)
                    lost = isinstance(error, LostEndError)
                    self._gauges.tails.tell(self._store.log, Witness.SEAL, lost=lost)
                _logger.critical(
                    "the log is not the one that was signed, nothing is sealed any more: %s."
                    " For another database on purpose, name another MACAO_CHECKPOINT_DIRECTORY; if an end that was"
                    " signed is lost for good, see macao accept-loss.",
                    error,
                )
                return
            except Exception as error:
                if not connection_broke(error):
                    raise
                self._state, self._last_error = State.STANDBY, repr(error)
                _logger.warning("the log is not sealed for now: %r", error)
            if self._edge.size != size_before:
                pause_seconds = BACKOFF_FIRST_SECONDS
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)

    async def _lead(self) -> None:
        """Wait for the lead, then work on one connection until something ends it."""
        connection = await self._database.connect("sealer")
        try:
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", self._lock):
                self._state = State.STANDBY
                await asyncio.sleep(STANDBY_SECONDS)
            await self._resume(connection)
            self._state, self._last_error = State.RUNNING, None
            with Ear() if self._bell is None else self._bell.listen() as ear:
                await self._work_for_ever(connection, ear)
        finally:
            await hang_up(connection)  # and with it goes the lead

    async def _resume(self, connection: Connection[Any]) -> None:
        """Take the tree up where it was left, and see to it that what was signed is still in it.

        Raises:
            RewrittenError: it is not.
        """
        newest = await self._store.newest(connection)
        outside = None if self._outside is None else await asyncio.to_thread(self._outside.prepare)
        if isinstance(outside, UnreadableLine):
            raise RewrittenError(f"the last checkpoint outside the database was changed: {outside.problem}")
        if outside is not None and not is_signed(outside):
            raise RewrittenError(
                "the last checkpoint outside the database was changed: its signature is not right"
            )
        losses = await self._losses(connection, outside)
        if newest is not None and not counts(newest, losses):
            newest = None
        if isinstance(outside, Checkpoint) and self._outside is not None and not counts(outside, losses):
            # Declared where another directory was at hand: it is to stand in this one, too.
            outside = losses[-1]
            await asyncio.to_thread(self._outside.append, outside)
        self._not_before_ms = max((loss.at_ms + 1 for loss in losses), default=0)
        signed = [(loss.kept, loss.root) for loss in losses if loss.kept]
        signed += [(one.size, one.root) for one in (newest, outside) if isinstance(one, Checkpoint)]
        try:
            self._edge, self._complete = await self._store.edge(connection), []
            for size, root in sorted(set(signed)):
                await self._find(connection, size, root)
        except MissingNodeError as error:
            raise RewrittenError(str(error)) from error
        if isinstance(outside, Loss):
            pass  # what comes next outside is a checkpoint behind it
        elif outside is not None and (newest is None or newest.size < outside.size):
            # Written outside, and then the process or the database went away: it was signed, so it is published.
            await self._publish(connection, outside)
            newest = outside
        elif self._outside is not None and newest is not None and newest != outside:
            if outside is None:
                _logger.warning(
                    "there was no checkpoint outside the database; the first is that of %d events",
                    newest.size,
                )
            await asyncio.to_thread(self._outside.append, newest)
        await self._flush(connection)  # tiles that somebody threw away: a checkpoint covers all of them
        self._signed = newest

    async def _losses(self, connection: Connection[Any], outside: Checkpoint | Loss | None) -> list[Loss]:
        """Return the losses that were declared.

        Raises:
            RewrittenError: one of them is not signed by us.
        """
        losses = await self._store.losses(connection)
        if isinstance(outside, Loss) and outside not in losses:
            losses.append(outside)
        for loss in losses:
            key = await self._keyring.verifier("record", loss.key_id)
            if key is None or base64url(key.public_bytes_raw()) != loss.public_key or not is_signed(loss):
                raise RewrittenError(
                    f"a loss of what was signed behind {loss.kept} events is not signed by a key of this service"
                )
        return losses

    async def _find(self, connection: Connection[Any], size: int, signed_root: str) -> None:
        """See to it that the log still begins with so many events under a root that was signed.

        Raises:
            RewrittenError: it does not.
        """
        while self._edge.size < size and await self._grow(connection, size - self._edge.size):
            if len(self._complete) >= TILES_MAX:
                await self._flush(connection)  # a checkpoint covers them
        if self._edge.size < size:
            raise LostEndError(f"a checkpoint of {size} events was signed, and the log has {self._edge.size}")
        root = self._edge.root if self._edge.size == size else await self._store.root_at(connection, size)
        if root.hex() != signed_root:
            raise RewrittenError(
                f"of the first {size} events one at least is not what it was when the checkpoint over them was signed"
            )

    async def _work_for_ever(self, connection: Connection[Any], ear: Ear) -> None:
        """Work until cancelled, or until the log has moved to another server."""
        loop = asyncio.get_running_loop()
        signed_at = loop.time() - self._seconds
        urgent = False
        place = self._log.place()
        while self._log.place() == place:
            before = self._edge.size
            grown = await self._grow(connection, PAGE_MAX)
            if grown and self._urgent and not urgent:
                urgent = await connection.fetchval(self._urgent_sql, before, self._edge.size, self._urgent)
            wait_seconds = self._poll_seconds
            unsealed = self._edge.size - (self._signed.size if self._signed else 0)
            if unsealed:
                due_seconds = URGENT_SECONDS if urgent else self._seconds
                left_seconds = signed_at + min(due_seconds, self._seconds) - loop.time()
                if left_seconds <= 0 or unsealed >= self._events_max or len(self._complete) >= TILES_MAX:
                    await self._sign(connection)
                    signed_at, urgent = loop.time(), False
                else:
                    wait_seconds = min(wait_seconds, left_seconds)
            if grown < PAGE_MAX:
                if grown:
                    await asyncio.sleep(PACE_SECONDS)
                await ear.wait(wait_seconds)

    async def _grow(self, connection: Connection[Any], limit: int) -> int:
        """Take up to so many more events into the tree, and return how many there were.

        Raises:
            RewrittenError: the log has a gap.
        """
        leaves = await self._store.leaves(connection, self._edge.size, min(limit, PAGE_MAX))
        for number, leaf in enumerate(leaves, 1):
            if leaf.position != self._edge.size + 1:
                raise RewrittenError(f"the log has no event at position {self._edge.size + 1}")
            self._complete += self._edge.append(leaf.hash)
            if number % TURN_MAX == 0:
                await asyncio.sleep(0)
        return len(leaves)

    async def _sign(self, connection: Connection[Any]) -> None:
        """Sign the tree as it is: first kept outside, then published."""
        await settle(connection)  # what is signed must not be lost when a standby takes over
        at_ms = max(self._clock.now_ms(), self._signed.at_ms if self._signed else 0, self._not_before_ms)
        checkpoint = sign_checkpoint(self._keyring, self._store.log, self._edge.size, self._edge.root, at_ms)
        if self._outside is not None:
            await asyncio.to_thread(self._outside.append, checkpoint)
        await self._publish(connection, checkpoint)
        self._signed = checkpoint
        if self._gauges is not None:
            self._gauges.sealed_events.labels(checkpoint.log).set(checkpoint.size)

    async def _publish(self, connection: Connection[Any], checkpoint: Checkpoint) -> None:
        """Write a checkpoint, and with it the tiles that it is the first to cover.

        Never a tile before its checkpoint: if the database lost its end in between, the tile would be one of events
        that are not there any more, under positions that others take.
        """
        async with connection.transaction():
            await self._flush(connection)
            await self._store.write_checkpoint(connection, checkpoint)

    async def _flush(self, connection: Connection[Any]) -> None:
        if self._complete:
            await self._store.write_tiles(connection, self._complete)
            self._complete = []


def sealer_lock(schema: str) -> int:
    """Return the key of the lock that whoever seals a log holds as long as its session lives."""
    return int.from_bytes(sha256(f"{schema}\0sealer".encode()).digest()[:8], "big", signed=True)
