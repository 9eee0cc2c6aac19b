"""``/v1/projections``: how the projections are, and what operators do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from litestar import Response, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from services.projections.health import ProjectionHealth, health_of
from services.projections.projection import Projection
from services.projections.rebuilds import Purpose, Reason, Rebuilds
from services.projections.releasing import Released, ReleaseError, release
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals

_NO_STORE: Final = {"Cache-Control": "no-store"}


class ProjectionList(Struct, frozen=True):
    """Every projection; there are few, so there is one page."""

    items: list[ProjectionHealth]
    next: None = None


class RebuildBody(Body, frozen=True):
    """``compare``: only hold the new tables against the served ones, and say how many rows differ."""

    purpose: Purpose = "switch"


class ReleaseBody(Body, frozen=True):
    """Which parked stream to let in; None for all."""

    stream: str | None = None


class ReleaseAnswer(Struct, frozen=True):
    """What a release has done.

    Attributes:
        released: the streams that were let in at once.
        rebuilding: the order among streams matters to this projection, so its tables are being built again.
    """

    released: list[Released]
    rebuilding: bool


class Projections:
    """The projections of this service, in the order in which they are listed."""

    def __init__(self, all_of_them: Sequence[Projection]) -> None:
        self.all: Final = tuple(all_of_them)

    def named(self, name: str) -> Projection:
        """Return one by its name.

        Raises:
            Problem: ``not-found``, with the names that there are.
        """
        for projection in self.all:
            if name == projection.NAME:
                return projection
        names = ", ".join(projection.NAME for projection in self.all)
        raise Problem("not-found", f"There is no such projection; there are {names}.")


@get(
    "/projections",
    operation_id="list_projections",
    security=OPTIONAL_TOKEN,
    summary="Lag and health of the projections",
)
async def list_projections(request: Request) -> Response[ProjectionList]:
    """Return how far each projection has come. What it shows is served all the same, however far behind."""
    caller = await request.caller()
    platform = request.platform
    async with platform.database.pool.acquire() as connection:
        items = [
            await health_of(connection, platform.log, projection)
            for projection in request.the(Projections).all
        ]
    if "operate" not in caller.scopes:
        items = [item.for_everybody() for item in items]
    return Response(ProjectionList(items), headers=_NO_STORE)


@post(
    "/projections/{name:str}/rebuild",
    operation_id="rebuild_projection",
    summary="Build a projection anew",
    guards=[needs("operate")],
    status_code=202,
    responses=refusals("not-found"),
)
async def rebuild_projection(
    request: Request, name: FromPath[str], data: JSONBody[RebuildBody]
) -> Response[ProjectionHealth]:
    """Have the tables built anew from the first event, while the old ones serve.

    Harmless to repeat: one that waits or runs already is the one. ``rebuild`` of ``GET /v1/projections`` tells how
    far it is, and how it ended.
    """
    platform = request.platform
    projection = request.the(Projections).named(name)
    async with platform.database.pool.acquire() as connection:
        await Rebuilds(platform.log.schema).request(
            connection, name, projection.VERSION, Reason.OPERATOR, data.purpose
        )
        health = await health_of(connection, platform.log, projection)
    return Response(health, status_code=202, headers=_NO_STORE)


@post(
    "/projections/{name:str}/release",
    operation_id="release_projection",
    summary="Let parked streams in again",
    guards=[needs("operate")],
    status_code=200,
    responses=refusals("not-found", "release-failed"),
)
async def release_projection(
    request: Request, name: FromPath[str], data: JSONBody[ReleaseBody]
) -> Response[ReleaseAnswer]:
    """Let parked streams in when what was wrong has been mended; each whole, or not at all.

    Where the order among streams matters (leaderboards) the tables are built anew in their place, with everything
    in it. Harmless to repeat: what is not parked is not released.
    """
    platform = request.platform
    projection = request.the(Projections).named(name)
    async with platform.database.pool.acquire() as connection:
        health = await health_of(connection, platform.log, projection)
        parked = [letter.stream for letter in health.dead_letters or ()]
        if data.stream is not None:
            parked = [stream for stream in parked if stream == data.stream]
        if parked and not projection.STREAMS_ARE_INDEPENDENT:
            await Rebuilds(platform.log.schema).request(connection, name, projection.VERSION, Reason.RELEASE)
            return Response(ReleaseAnswer([], rebuilding=True), headers=_NO_STORE)
        released: list[Released] = []
        for stream in parked:
            try:
                one = await release(connection, platform.log, projection, stream)
            except ReleaseError as error:
                raise Problem(
                    "release-failed", str(error), params={"stream": stream, "released": len(released)}
                ) from error
            if one is not None:
                released.append(one)
    return Response(ReleaseAnswer(released, rebuilding=False), headers=_NO_STORE)
