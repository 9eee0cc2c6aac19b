"""How far each projection has come, and what is in its way: for operators, for monitoring, for the balancer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from services.projections.projection import Connection, Projection
from services.projections.rebuilds import Rebuild, Rebuilds
from services.projections.releasing import DeadLetter, dead_letters

if TYPE_CHECKING:
    from services.runtime.log import EventLog

SILENT_SECONDS: Final = 15.0
"""A projection that nobody works on: its heartbeat is older than this. It beats every five seconds."""

# Of several slices, the one that is furthest behind speaks for all.
_SQL = """
SELECT at.version, at.position, at.state, at.last_error, at.leader,
    extract(epoch FROM clock_timestamp() - at.heartbeat_at)::float8 AS silent_seconds
FROM {log}.subscriptions AS at
WHERE at.name = $1
ORDER BY at.version DESC, at.state = 'running', at.position LIMIT 1
"""

State = Literal["starting", "running", "silent", "stopped", "lost-tail"]


class ProjectionHealth(Struct, frozen=True):
    """How a projection is.

    Attributes:
        version: of the tables that serve.
        state: ``starting`` before the first event, ``running``, ``silent`` while no process works on it, ``stopped``
            when something is wrong that is no matter of single events, ``lost-tail`` when the log no longer holds what
            it had worked off.
        healthy: it runs, and leaves nothing out.
        position: of the log, up to which it is worked out.
        lag_positions: events behind the end of the log.
        lag_seconds: age of the oldest event that is not worked off, 0 if there is none.
        parked: streams that are left out because of an event that cannot be worked off.
        silent_seconds: since the process that works on it showed that it lives.
        rebuild: the one under way, or the last.
        leader: the process that works on it, or did last; shown to operators alone.
        last_error: shown to operators alone, as it may quote an event.
        dead_letters: the parked streams, shown to operators alone.
    """

    name: str
    version: int
    state: State
    healthy: bool
    position: int
    lag_positions: int
    lag_seconds: float
    parked: int
    silent_seconds: float | None
    rebuild: Rebuild | None
    leader: str | None
    last_error: str | None
    dead_letters: list[DeadLetter] | None

    def for_everybody(self) -> ProjectionHealth:
        """Return it without what operators alone may see."""
        rebuild = None if self.rebuild is None else replace(self.rebuild, last_error=None)
        return replace(self, rebuild=rebuild, leader=None, last_error=None, dead_letters=None)

    @property
    def remark(self) -> str:
        """Say in a few words what is not as it should be, in words that anybody may read; empty if all is well."""
        remarks: list[str] = []
        if self.state not in {"running", "starting"}:
            remarks.append(self.state)
        if self.parked:
            remarks.append(f"{self.parked} parked")
        if self.rebuild is not None and self.rebuild.state in {"waiting", "running"}:
            remarks.append("being built anew")
        return f"{self.name}: {', '.join(remarks)}" if remarks else ""


async def health_of(connection: Connection, log: EventLog, projection: Projection) -> ProjectionHealth:
    """Return how a projection is, whichever process works on it."""
    schema = log.schema
    rebuild = await Rebuilds(schema).of(connection, projection.NAME)
    row = await connection.fetchrow(_SQL.replace("{log}", schema), projection.NAME)
    if row is None:
        head = await log.head_position(connection=connection)
        return ProjectionHealth(
            name=projection.NAME, version=projection.VERSION, state="starting", healthy=True, position=0,
            lag_positions=head, lag_seconds=0.0, parked=0, silent_seconds=None, rebuild=rebuild, leader=None,
            last_error=None, dead_letters=[],
        )  # fmt: skip
    lag = await log.lag_after(row["position"], connection)
    letters = await dead_letters(connection, schema, projection.NAME, row["version"])
    state = cast("State", row["state"])
    if state == "running" and row["silent_seconds"] > SILENT_SECONDS:
        state = "silent"
    return ProjectionHealth(
        name=projection.NAME, version=row["version"], state=state, healthy=state == "running" and not letters,
        position=row["position"], lag_positions=max(0, lag.head - row["position"]),
        lag_seconds=round(max(0.0, lag.seconds), 3), parked=len(letters),
        silent_seconds=round(max(0.0, row["silent_seconds"]), 3), rebuild=rebuild, leader=row["leader"],
        last_error=row["last_error"], dead_letters=letters,
    )  # fmt: skip
