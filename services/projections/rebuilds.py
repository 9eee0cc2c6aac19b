"""The list of rebuilds: what was asked for, what is under way, and how the last one of each projection ended.

A rebuild that was asked for is done, whatever happens to who does it: the row stays, and any process that has the code
takes it up. Who works on one holds an advisory lock as long as its session lives.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct

from services.runtime.checkpoint import lock_key

if TYPE_CHECKING:
    import asyncpg

    from services.projections.projection import Connection

    Source = Connection | asyncpg.pool.Pool[asyncpg.Record]

Purpose = Literal["switch", "compare"]
Progress = Literal["waiting", "running", "done", "failed"]

ERROR_CHARS_MAX: Final = 2_000

_COLUMNS = (
    "name, version, purpose, reason, state, position, head, last_error, differences, "
    "extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at)::float8 AS seconds"
)
# What waits or runs already is left alone, unless tables of a newer version are asked for.
_REQUEST = """
INSERT INTO {log}.rebuilds AS known (name, version, purpose, reason) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET
    version = excluded.version, purpose = excluded.purpose, reason = excluded.reason, state = 'waiting',
    requested_at = now(), started_at = NULL, ended_at = NULL, position = 0, head = 0, worker = NULL,
    last_error = NULL, differences = NULL
WHERE known.state NOT IN ('waiting', 'running') OR known.version < excluded.version
"""
_OF = f"SELECT {_COLUMNS} FROM {{log}}.rebuilds WHERE name = $1"  # noqa: S608 - no value in it
_OPEN = f"SELECT {_COLUMNS} FROM {{log}}.rebuilds WHERE state IN ('waiting', 'running') ORDER BY requested_at"  # noqa: S608 - as above
_BEGIN = """
UPDATE {log}.rebuilds SET state = 'running', started_at = clock_timestamp(), worker = $2, position = 0, head = $3
WHERE name = $1
"""
_AGAIN = "UPDATE {log}.rebuilds SET state = 'waiting', worker = NULL, position = 0 WHERE name = $1"
_MOVE = "UPDATE {log}.rebuilds SET position = $2, head = $3 WHERE name = $1"
_END = """
UPDATE {log}.rebuilds
SET state = $2, last_error = $3, differences = $4, ended_at = clock_timestamp() WHERE name = $1
"""


class Reason(StrEnum):
    """Why tables are built anew.

    ``version``: the served ones are those of an older version. ``lost-tail``: they hold events that the log has lost.
    ``release``: a parked stream is let in where the order among streams matters.
    """

    OPERATOR = "operator"
    VERSION = "version"
    LOST_TAIL = "lost-tail"
    RELEASE = "release"


class Rebuild(Struct, frozen=True):
    """A rebuild, or the last one.

    Attributes:
        purpose: ``switch``: the new tables take over; ``compare``: they are only held against the served ones.
        reason: ``operator``, ``version``, ``lost-tail`` or ``release``.
        state: ``waiting``, ``running``, ``done``, or ``failed``, when the old tables go on to serve.
        position: how far it has come in the log, of ``head``.
        seconds: since it began, or how long it took.
        last_error: shown to operators alone, as it may quote an event.
        differences: rows that differ from the served ones, of ``compare``.
    """

    version: int
    purpose: Purpose
    reason: str
    state: Progress
    position: int
    head: int
    seconds: float | None
    last_error: str | None
    differences: int | None


class Rebuilds:
    """The table of rebuilds in a log's schema."""

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def lock(self, name: str) -> int:
        """Return the key of the lock that whoever builds a projection holds."""
        return lock_key(self._schema, "rebuild", name)

    async def request(
        self, source: Source, name: str, version: int, reason: Reason, purpose: Purpose = "switch"
    ) -> None:
        """Ask for a rebuild; one that waits or runs already is the one."""
        await source.execute(self._sql(_REQUEST), name, version, purpose, str(reason))

    async def of(self, source: Source, name: str) -> Rebuild | None:
        """Return the present or the last rebuild of a projection."""
        row = await source.fetchrow(self._sql(_OF), name)
        return None if row is None else _rebuild(row)

    async def open(self, source: Source) -> dict[str, Rebuild]:
        """Return what waits or runs, by name, the oldest request first."""
        return {row["name"]: _rebuild(row) for row in await source.fetch(self._sql(_OPEN))}

    async def is_worked_on(self, source: Source, name: str) -> bool:
        """Say whether somebody works on it at this moment."""
        # Outside of a transaction the lock is given back at once: this only asks.
        return not await source.fetchval("SELECT pg_try_advisory_xact_lock($1)", self.lock(name))

    async def begin(self, source: Source, name: str, worker: str, head: int) -> None:
        """Say that it has begun."""
        await source.execute(self._sql(_BEGIN), name, worker, head)

    async def again(self, source: Source, name: str) -> None:
        """Say that it has to begin again, by whoever comes first."""
        await source.execute(self._sql(_AGAIN), name)

    async def move(self, source: Source, name: str, position: int, head: int) -> None:
        """Say how far it has come."""
        await source.execute(self._sql(_MOVE), name, position, head)

    async def end(
        self, source: Source, name: str, *, error: str | None = None, differences: int | None = None
    ) -> None:
        """Say that it is done, or why it failed."""
        state: Progress = "done" if error is None else "failed"
        told = None if error is None else error[:ERROR_CHARS_MAX]
        await source.execute(self._sql(_END), name, state, told, differences)

    def _sql(self, text: str) -> str:
        return text.replace("{log}", self._schema)


def _rebuild(row: asyncpg.Record) -> Rebuild:
    return Rebuild(
        version=row["version"], purpose=cast("Purpose", row["purpose"]), reason=row["reason"],
        state=cast("Progress", row["state"]), position=row["position"], head=row["head"],
        seconds=None if row["seconds"] is None else round(row["seconds"], 3),
        last_error=row["last_error"], differences=row["differences"],
    )  # fmt: skip
