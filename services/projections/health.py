"""``/v1/projections``: how far each projection has come, and what is in its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, cast

from litestar import Response, get
from msgspec import Struct
from msgspec.structs import replace

from services.projections.projection import Projection
from services.runtime.platform import Platform
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN

SILENT_SECONDS: Final = 15.0
"""A projection that nobody works on: its heartbeat is older than this. It beats every five seconds."""

_SQL = """
SELECT at.version, at.position, at.state, at.last_error,
    extract(epoch FROM clock_timestamp() - at.heartbeat_at)::float8 AS silent_seconds,
    tail.position AS head,
    coalesce(extract(epoch FROM clock_timestamp() - waiting.recorded_at), 0)::float8 AS lag_seconds
FROM macao_log.subscriptions AS at
CROSS JOIN (SELECT coalesce(max(position), 0) AS position FROM macao_log.events) AS tail
LEFT JOIN macao_log.events AS waiting ON waiting.position = at.position + 1
WHERE at.name = $1 AND at.version = $2
"""

State = Literal["starting", "running", "silent", "stopped", "lost-tail"]


class ProjectionHealth(Struct, frozen=True):
    """How a projection is.

    Attributes:
        version: of its tables.
        state: ``starting`` before the first event, ``running``, ``silent`` while no process works on it, ``stopped``
            after an event that it cannot work off, ``lost-tail`` when the log no longer holds what it had worked off.
        position: of the log, up to which it is worked out.
        lag_positions: events behind the end of the log.
        lag_seconds: age of the oldest event that is not worked off, 0 if there is none.
        last_error: shown to operators alone, as it may quote an event.
    """

    name: str
    version: int
    state: State
    healthy: bool
    position: int
    lag_positions: int
    lag_seconds: float
    last_error: str | None


class ProjectionList(Struct, frozen=True):
    """Every projection; there are few, so there is one page."""

    items: list[ProjectionHealth]
    next: None = None


class Projections:
    """The projections of this service, in the order in which they are listed."""

    def __init__(self, all_of_them: Sequence[Projection]) -> None:
        self.all: Final = tuple(all_of_them)


async def health_of(platform: Platform, projection: Projection) -> ProjectionHealth:
    """Return how a projection is, whichever process works on it."""
    row = await platform.database.pool.fetchrow(_SQL, projection.NAME, projection.VERSION)
    if row is None:
        head = await platform.log.head_position()
        return ProjectionHealth(projection.NAME, projection.VERSION, "starting", True, 0, head, 0.0, None)
    state = cast("State", row["state"])
    if state == "running" and row["silent_seconds"] > SILENT_SECONDS:
        state = "silent"
    return ProjectionHealth(
        name=projection.NAME, version=row["version"], state=state, healthy=state == "running",
        position=row["position"], lag_positions=max(0, row["head"] - row["position"]),
        lag_seconds=round(max(0.0, row["lag_seconds"]), 3), last_error=row["last_error"],
    )  # fmt: skip


@get(
    "/projections",
    operation_id="list_projections",
    security=OPTIONAL_TOKEN,
    summary="Lag and health of the projections",
)
async def list_projections(request: Request) -> Response[ProjectionList]:
    """Return how far each projection has come. What it shows is served all the same, however far behind."""
    caller = await request.caller()
    items = [await health_of(request.platform, projection) for projection in request.the(Projections).all]
    if "operate" not in caller.scopes:
        items = [replace(item, last_error=None) for item in items]
    return Response(ProjectionList(items), headers={"Cache-Control": "no-store"})
