"""Letting a parked stream in again, when what was wrong has been mended.

The stream's events, from the one that failed to the checkpoint, are applied in order, in one transaction with the end
of the parking. The live reader waits for that long at its checkpoint, and then finds the stream among all others.
That is right where streams are independent; where they are not, tables are built again (``rebuilding``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from services.projections.projection import Connection, Projection
from services.runtime.database import connection_broke
from services.runtime.log import slice_of
from services.runtime.subscription import ERROR_CHARS_MAX

if TYPE_CHECKING:
    from services.contracts.envelope import Recorded
    from services.runtime.log import EventLog

STREAM_MAX: Final = 5_000
"""Events of a stream that are read at a time."""

_LETTERS = """
SELECT stream, position, type, error, attempts, extract(epoch FROM clock_timestamp() - parked_at)::float8 AS seconds
FROM {log}.dead_letters WHERE name = $1 AND version = $2 ORDER BY position
"""
_CHECKPOINT = """
SELECT position FROM {log}.subscriptions WHERE name = $1 AND version = $2 AND slice = $3 FOR UPDATE
"""
_LETTER = "SELECT position FROM {log}.dead_letters WHERE name = $1 AND version = $2 AND stream = $3"
_FORGET = "DELETE FROM {log}.dead_letters WHERE name = $1 AND version = $2 AND stream = $3"
_ONE_LESS = """
UPDATE {log}.subscriptions SET parked = parked - 1 WHERE name = $1 AND version = $2 AND slice = $3
"""
_FAILED = """
UPDATE {log}.dead_letters SET attempts = attempts + 1, error = $4 WHERE name = $1 AND version = $2 AND stream = $3
"""


class DeadLetter(Struct, frozen=True):
    """A stream that a projection has set aside.

    Attributes:
        position: of the event that failed; it and all that follow it in the stream wait.
        type: of that event.
        error: what it failed with, the last time.
        seconds: since it was set aside.
    """

    stream: str
    position: int
    type: str
    error: str
    attempts: int
    seconds: float


class Released(Struct, frozen=True):
    """A stream that was let in, with so many events."""

    stream: str
    events: int


class ReleaseError(Exception):
    """An event still cannot be worked off; the stream stays parked."""


async def dead_letters(connection: Connection, schema: str, name: str, version: int) -> list[DeadLetter]:
    """Return what a projection has set aside, in the order of the log."""
    rows = await connection.fetch(_LETTERS.replace("{log}", schema), name, version)
    return [DeadLetter(*row) for row in rows]


async def release(
    connection: Connection, log: EventLog, projection: Projection, stream: str
) -> Released | None:
    """Let one stream of a projection with independent streams in; None if it is not parked.

    Raises:
        ReleaseError: an event of it still fails; nothing has changed but the count of attempts.
    """
    name, version = projection.NAME, projection.VERSION
    at = slice_of(stream, projection.SLICES)
    try:
        async with connection.transaction():
            end = await connection.fetchval(_CHECKPOINT.replace("{log}", log.schema), name, version, at)
            first = await connection.fetchval(_LETTER.replace("{log}", log.schema), name, version, stream)
            if end is None or first is None:
                return None
            events = await _between(connection, log, stream, first, end)
            await projection.apply(connection, events)
            await connection.execute(_FORGET.replace("{log}", log.schema), name, version, stream)
            await connection.execute(_ONE_LESS.replace("{log}", log.schema), name, version, at)
    except Exception as error:
        if connection_broke(error):
            raise
        told = repr(error)[:ERROR_CHARS_MAX]
        await connection.execute(_FAILED.replace("{log}", log.schema), name, version, stream, told)
        raise ReleaseError(f"{stream} still cannot be worked off: {told}") from error
    return Released(stream, len(events))


async def _between(
    connection: Connection, log: EventLog, stream: str, first: int, end: int
) -> list[Recorded]:
    """Return a stream's events from one position to another, both included."""
    events: list[Recorded] = []
    after = 0
    while page := await log.read_stream_in_order(stream, after, STREAM_MAX, connection):
        events += [recorded for recorded in page if first <= recorded.position <= end]
        after = page[-1].event.version
    return events
