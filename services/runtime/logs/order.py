"""The reading order: which stretch of which log comes after which. Read here; ``taking`` adds to it.

Positions count through all stretches without a gap. Within one log stretches follow each other without a gap as well,
so what a page of the order needs of a log is one piece of that log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from asyncpg import Pool
from msgspec import Struct

from services.runtime.connection import AnyConnection

Source: TypeAlias = "AnyConnection | Pool[Any]"

STRETCHES_MAX: Final = 500
"""The most stretches of one page."""

_AFTER: Final = """
SELECT position, log, log_position, events FROM macao_runtime.reading_order
WHERE position > $1 ORDER BY position LIMIT $2
"""
_TAKEN: Final = """
SELECT logs.name, coalesce(last.log_position, 0) AS log_position, last.hash FROM macao_runtime.logs
LEFT JOIN LATERAL (
    SELECT log_position, hash FROM macao_runtime.reading_order AS one WHERE one.log = logs.name
    ORDER BY log_position DESC LIMIT 1
) AS last ON true
"""
_OF_LOG: Final = """
SELECT position, log, log_position, events FROM macao_runtime.reading_order
WHERE log = $1 AND log_position >= $2 ORDER BY log_position LIMIT $3
"""


class Stretch(Struct, frozen=True):
    """So many neighbouring events of one log, by where they end.

    Attributes:
        position: in the order.
        log_position: in the log.
    """

    position: int
    log: str
    log_position: int
    events: int

    @property
    def ahead(self) -> int:
        """How much further on an event of it stands in the order than in its log."""
        return self.position - self.log_position


class Taken(Struct, frozen=True):
    """How far a log is in the order: its last event there, with the hash; position 0 before the first."""

    log: str
    position: int
    hash: bytes | None


async def stretches_after(source: Source, after: int, limit: int) -> list[Stretch]:
    """Return what covers the next ``limit`` positions, cut to them at both ends."""
    rows = await source.fetch(_AFTER, after, min(limit, STRETCHES_MAX))
    return cut([Stretch(*row) for row in rows], after, after + limit)


def cut(stretches: Sequence[Stretch], after: int, end: int) -> list[Stretch]:
    """Return of stretches in order what lies behind ``after`` and up to ``end``."""
    kept: list[Stretch] = []
    for one in stretches:
        first, last = max(one.position - one.events, after), min(one.position, end)
        if first < last:
            kept.append(Stretch(last, one.log, last - one.ahead, last - first))
    return kept


async def stretches_of(source: Source, log: str, from_position: int, limit: int) -> list[Stretch]:
    """Return stretches of one log that hold what begins at a position of that log."""
    return [Stretch(*row) for row in await source.fetch(_OF_LOG, log, from_position, limit)]


async def taken(source: Source) -> list[Taken]:
    """Return how far each log is in the order."""
    return [Taken(*row) for row in await source.fetch(_TAKEN)]
