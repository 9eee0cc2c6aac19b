"""How the events of a log are laid out: one table, or partitions by a hash of the stream (docs/adr/0017)."""

from __future__ import annotations

from typing import Any, Final

import asyncpg
from asyncpg import Connection

from services.runtime.migrate import MigrationError

ONE_TABLE: Final = 1
PARTITIONS_MIN: Final = 2
PARTITIONS_MAX: Final = 256


class PartitionError(MigrationError):
    """The events cannot be laid out like this; the message says why, and what to do."""


def checked(partitions: int) -> int:
    """Return a number of partitions that there may be.

    Raises:
        PartitionError: it is no power of two, too small or too large.
    """
    if not PARTITIONS_MIN <= partitions <= PARTITIONS_MAX or partitions & (partitions - 1):
        raise PartitionError(
            f"events are cut into 2, 4, 8 … {PARTITIONS_MAX} partitions, a power of two, not into {partitions}"
        )
    return partitions


async def partitions_of(connection: Connection[Any], schema: str) -> int:
    """Return into how many partitions the events of a log are cut: ``ONE_TABLE`` for none, and for no such log."""
    found: int = await connection.fetchval(
        "SELECT coalesce((SELECT CASE relkind WHEN 'p' THEN"
        " (SELECT count(*) FROM pg_inherits WHERE inhparent = c.oid) ELSE $2 END"
        " FROM pg_class AS c WHERE oid = to_regclass($1)), $2)::integer",
        f"{schema}.events",
        ONE_TABLE,
    )
    return found


async def partition(connection: Connection[Any], schema: str, partitions: int) -> bool:
    """Cut the events of a log into partitions, as long as there are none; say whether that was to do.

    Raises:
        PartitionError: there are events, or other partitions; or the number is none.
    """
    number = checked(partitions)
    try:
        done: bool = await connection.fetchval(f"SELECT {schema}.partition_events($1)", number)
    except asyncpg.ObjectNotInPrerequisiteStateError as error:
        raise PartitionError(
            f"{error}: a log is laid out when it is new. One that is there is laid out anew where it is moved to "
            f"(macao logs move NAME --to SERVER --partitions {partitions}, docs/operations.md)"
        ) from error
    return done
