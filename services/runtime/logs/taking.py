"""The job that takes what was committed to the logs into the reading order.

One process at a time does it; the lead is an advisory lock of the session that also writes, so who lost the one cannot
do the other. It looks at every log when the doorbell rings, and anyway now and then, and writes down what it found: so
many more events of this log, then so many of that.

The main log is looked at last and written down first. A match is started because of what stands at its table, and that
is in the main log: so whoever finds the start of a match in the order has found what it was started for. The other way
round nothing is promised: an event of the main log may stand before one of a match that its author had seen in the
match. Who decides by events of other logs (ratings, tables after a match) reads them in the order, and writes later.

A log whose server is away is left out until it is back; the others go on. A log that no longer holds the event up to
which it was taken in has lost its tail, and is left out until an operator has dealt with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import asyncpg
from asyncpg import Connection

from services.runtime.bus import Bell, Ear
from services.runtime.checkpoint import lock_key
from services.runtime.database import Database, connection_broke, hang_up
from services.runtime.logs.order import Taken, taken

if TYPE_CHECKING:
    from services.runtime.log import EventLog

STRETCH_MAX: Final = 1_000
"""The most events of one stretch: how long the others wait for a log that has a heap."""
PAUSE_SECONDS: Final = 0.01
"""How long at least lies between two looks: under load stretches are longer, and not more."""
LOOK_SECONDS: Final = 1.0
"""How long a log may take to answer before it is left out."""
STANDBY_SECONDS: Final = 1.0
BACKOFF_FIRST_SECONDS: Final = 0.05
BACKOFF_LAST_SECONDS: Final = 2.0

LEAD: Final = lock_key("macao_runtime", "reading order")
"""The lock of whoever adds to the reading order, or cuts it."""

_TAKE: Final = """
WITH tail AS (
    SELECT coalesce(max(position), 0) AS position FROM macao_runtime.reading_order
), it AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[]) WITH ORDINALITY
        AS it (log, log_position, events, hash, number)
), sound AS (
    SELECT bool_and(it.log_position - it.events = coalesce(last.log_position, 0)) AS fits FROM it
    LEFT JOIN LATERAL (
        SELECT log_position FROM macao_runtime.reading_order AS one WHERE one.log = it.log
        ORDER BY log_position DESC LIMIT 1
    ) AS last ON true
)
INSERT INTO macao_runtime.reading_order (position, log, log_position, events, hash)
SELECT tail.position + sum(it.events) OVER (ORDER BY it.number), it.log, it.log_position, it.events, it.hash
FROM tail, it, sound WHERE sound.fits
RETURNING position
"""
"""Nothing, where the order has changed since it was looked at (``mending``)."""

_logger: Final = logging.getLogger(__name__)


class LostLogTailError(Exception):
    """A log does not hold the event up to which it was taken in."""


class Found(Taken, frozen=True):
    """What was found in a log behind what was taken: up to where, and how many events."""

    events: int


class Taker:
    """Takes all logs into the reading order.

    Args:
        parts: the logs there are at the moment when it is asked, the main one first.
    """

    def __init__(
        self,
        database: Database,
        bell: Bell | None,
        parts: Callable[[], Sequence[EventLog]],
    ) -> None:
        self._database = database
        self._bell = bell
        self._parts = parts
        self._lost: set[str] = set()
        self._away: set[str] = set()
        self._looking: dict[str, asyncio.Task[tuple[int, bytes] | None]] = {}

    async def run(self) -> None:
        """Work until cancelled; a database that is away is waited for."""
        pause_seconds = BACKOFF_FIRST_SECONDS
        try:
            while True:
                try:
                    await self._lead()
                except Exception as error:
                    if not connection_broke(error):
                        raise
                    _logger.warning("the reading order is not led by this process any more: %r", error)
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(pause_seconds * 2, BACKOFF_LAST_SECONDS)
        finally:
            for look in self._looking.values():
                look.cancel()

    async def _lead(self) -> None:
        connection = await self._database.connect("reading order")
        try:
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LEAD):  # noqa: ASYNC110 - in SQL
                await asyncio.sleep(STANDBY_SECONDS)
            with Ear() if self._bell is None else self._bell.listen() as ear:
                while True:
                    if not await self.take(connection):
                        await ear.wait(self._database.settings.poll_seconds)
                    await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await hang_up(connection)  # and with it goes the lead

    async def take(self, connection: Connection[Any]) -> int:
        """Look once at every log, and write down what there is; return how many events that were."""
        known = {one.log: one for one in await taken(connection)}
        parts = [part for part in self._parts() if part.name in known]
        main, others = parts[0], parts[1:]
        looks = await asyncio.gather(*(self._look(part, known[part.name]) for part in others))
        found = [one for one in (await self._look(main, known[main.name]), *looks) if one is not None]
        if not found:
            return 0
        rows = await connection.fetch(
            _TAKE,
            [one.log for one in found],
            [one.position for one in found],
            [one.events for one in found],
            [one.hash for one in found],
        )
        if self._bell is not None and rows:
            self._bell.ring(max(row[0] for row in rows), [])
        return sum(one.events for one in found)

    async def _look(self, part: EventLog, before: Taken) -> Found | None:
        """Return what a log has behind what was taken of it; None for nothing, or where it cannot be had."""
        name = part.name
        look = self._looking.get(name)
        if look is None:
            look = asyncio.create_task(part.end_after(before.position, before.hash, STRETCH_MAX))
            self._looking[name] = look
        await asyncio.wait({look}, timeout=LOOK_SECONDS)
        if not look.done():
            # The others do not wait for it, and it is asked no second time before it answers.
            self._is_away(name, f"no answer in {LOOK_SECONDS} s")
            return None
        del self._looking[name]
        error = look.exception()
        if error is not None:
            if not connection_broke(error) and not isinstance(error, asyncpg.PostgresError):
                raise error
            # Whatever its server has against it (no connection, no such schema): the others are read on.
            self._is_away(name, repr(error))
            return None
        self._away.discard(name)
        end = look.result()
        if end is None:
            if name not in self._lost:
                self._lost.add(name)
                _logger.critical(
                    "the log %s does not hold the event at its position %d that was read: it lost its tail. Nothing "
                    "more of it is read until `macao logs mend %s` was run (docs/several-logs.md).",
                    name, before.position, name,
                )  # fmt: skip
            return None
        self._lost.discard(name)
        position, digest = end
        events = (
            position - before.position
        )  # a late answer that does not fit any more is refused by the statement
        return Found(name, position, digest, events=events) if events else None

    def _is_away(self, name: str, why: str) -> None:
        if name not in self._away:
            self._away.add(name)
            _logger.warning("the log %s cannot be read, the others are read on: %s", name, why)
