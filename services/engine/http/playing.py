"""A match for those who play or watch it."""

from __future__ import annotations

from typing import Annotated, Final, cast

import msgspec
from litestar import Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, Parameter
from msgspec import Meta, Raw

from services.contracts.problems import RULE_PROBLEMS
from services.engine.http.hearing import answered, heard, hears, refused
from services.engine.http.moving import carry_out, seen_by
from services.engine.live.match_stream import MatchSource
from services.engine.play.live import Live
from services.engine.play.moves import Moves
from services.engine.play.views import Views, Watcher
from services.engine.play.wire import EventPage, MatchPart, MatchView, MoveAnswer
from services.runtime.web import reading
from services.runtime.web.bodies import Body
from services.runtime.web.conditions import etag
from services.runtime.web.direct import DIRECT
from services.runtime.web.idempotency import REPLAYED
from services.runtime.web.operations import VERSIONED, Conditional, KeyedAtVersion
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals
from services.runtime.web.streams import VERSION_MAX, EventStream, event_stream

NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"

_NAMES: Final = "|".join(MatchView.__struct_fields__)
FIELDS: Final = f"^({_NAMES})(,({_NAMES}))*$"

_encode: Final = msgspec.json.Encoder().encode


class MoveRequest(Body, frozen=True):
    """A move, as ``legal`` lists it: ``{"type": "roll"}``, ``{"type": "stake", "amount": 2}``; or a leave."""

    move: Annotated[
        Raw,
        Meta(
            description="One of `legal`, with a stake's amount chosen from its range; or a leave.",
            extra_json_schema={"$ref": "#/components/schemas/Move"},
        ),
    ]


@get(
    "/matches/{match_id:str}",
    tags=["matches"],
    operation_id="get_match",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged"),
    summary="A match as you may see it",
)
async def get_match(request: Request, match_id: FromPath[str]) -> Response[MatchView]:
    """Return the position, who is to act, and what the caller may do."""
    live, watcher = await watched(request, match_id)
    known = reading.unchanged(request, etag(live.head.version), reading.PRIVATE)
    if known is not None:
        return cast("Response[MatchView]", known)
    view = await request.the(Views).match_view(live, watcher)
    return Response(view, headers=reading.headers_of(etag(view.version), reading.PRIVATE))


@get(
    "/matches/{match_id:str}/part",
    tags=["matches"],
    operation_id="get_match_part",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses={
        200: ResponseSpec(MatchPart, generate_examples=False, description="The fields that were asked for."),
        **refusals("not-found", "match-damaged"),
    },
    summary="Some fields of a match",
)
async def get_match_part(
    request: Request,
    match_id: FromPath[str],
    fields: Annotated[
        str,
        Parameter(
            min_length=1,
            max_length=400,
            pattern=FIELDS,
            description="Names of fields of the match, with commas between them: `version,turn,legal`.",
        ),
    ],
) -> Response[bytes]:
    """Return some fields of what ``GET /v1/matches/{match_id}`` returns, for clients that look often at large hands."""
    wanted = fields.split(",")
    live, watcher = await watched(request, match_id)
    known = reading.unchanged(request, etag(live.head.version), reading.PRIVATE)
    if known is not None:
        return known
    view = await request.the(Views).match_view(live, watcher)
    body = _encode({name: getattr(view, name) for name in wanted})
    headers = reading.headers_of(etag(view.version), reading.PRIVATE)
    return Response(body, media_type=JSON, headers=headers)


@post(
    "/matches/{match_id:str}/moves",
    status_code=200,
    guards=[hears("play")],
    exception_handlers={Exception: refused},
    tags=["matches"],
    operation_id="make_move",
    operation_class=KeyedAtVersion,
    opt={**VERSIONED, DIRECT: True},
    summary="Make a move",
    responses={
        200: ResponseSpec(
            MoveAnswer, generate_examples=False, description="The move was accepted; this is what it led to."
        ),
        **refusals(
            "not-found",
            "match-damaged",
            "not-a-player",
            "version-missing",
            "stale-version",
            "idempotency-key-reused",
            *RULE_PROBLEMS,
        ),
    },
)
async def move(request: Request, match_id: FromPath[str], data: JSONBody[MoveRequest]) -> Response[bytes]:
    """Decide a move, put what it leads to into the log, and answer when it is safe there.

    ``Idempotency-Key`` is required: a retry with the same key and body gets the first answer. ``If-Match`` names the
    version that the move was chosen at, and is required for all moves but those that race with others
    (``leave``, ``call``, ``catch``).

    The answer holds the events that the move led to and what may be done next, not the position: fold the events,
    follow the stream, or read the match again.
    """
    command = await request.command()
    if_match = request.if_match()
    caller = await request.caller()
    hearing = heard(request, command.id, if_match)
    done = await carry_out(
        request.the(Views), request.the(Moves), match_id, caller, data.move, if_match, command, hearing
    )
    answered(request, done.version)
    headers = {"ETag": etag(done.version)}
    if done.replayed:
        headers[REPLAYED] = "true"
    return Response(done.answer, media_type=JSON, headers=headers)


@get(
    "/matches/{match_id:str}/events",
    tags=["matches"],
    operation_id="list_events",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged"),
    summary="What happened",
)
async def list_events(
    request: Request,
    match_id: FromPath[str],
    after: Annotated[int, Parameter(ge=0, le=VERSION_MAX, description="The version to read on after.")] = 0,
    limit: Annotated[int, Parameter(ge=1, le=1000)] = 200,
) -> Response[EventPage]:
    """Return events as the caller may see them: a page of JSON, or with ``Accept: application/x-ndjson`` lines."""
    live, watcher = await watched(request, match_id)
    page = await request.the(Views).event_page(live, after, limit, watcher)
    if NDJSON in (request.header(b"accept") or ""):
        lines = b"".join(_encode(item) + b"\n" for item in page.items)
        return cast(
            "Response[EventPage]", reading.bytes_answer(request, lines, reading.PRIVATE, media_type=NDJSON)
        )
    return reading.answer(request, page, reading.PRIVATE)


@get(
    "/matches/{match_id:str}/stream",
    media_type="text/event-stream",
    tags=["matches"],
    operation_id="stream_match",
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged", "too-many-streams"),
    summary="Follow a match",
)
async def stream_match(
    request: Request,
    match_id: FromPath[str],
    after: Annotated[
        int | None, Parameter(ge=0, le=VERSION_MAX, description="The version to go on after.")
    ] = None,
) -> EventStream:
    """Server-sent events: a snapshot, then every event as the caller may see it, with its version as id.

    ``after`` (or ``Last-Event-ID``, which goes before it) is the version that the client has: the snapshot is the match
    as it stood then, and every event behind it follows; 0 starts with the first event. Without it the snapshot is the
    newest. Events are named by their type (``event: rolled``), so a browser's ``EventSource`` needs a listener for
    each; docs/api.md shows how to read all of them. The last event of a match is ``seed-revealed``; the stream then
    stays open until the client closes it.
    """
    live, watcher = await watched(request, match_id)
    return await event_stream(request, MatchSource(request.the(Views), live, watcher), after)


@get(
    "/matches/{match_id:str}/state",
    tags=["matches"],
    operation_id="get_state",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged"),
    summary="The position at a version",
)
async def get_state(
    request: Request,
    match_id: FromPath[str],
    at: Annotated[
        int,
        Parameter(ge=1, le=VERSION_MAX, description="The version of the last event to take into account."),
    ],
) -> Response[MatchView]:
    """Return the match as it stood then, step by step from 1 to the last version: replay over HTTP."""
    live, watcher = await watched(request, match_id)
    view = await request.the(Views).match_view_at(live, at, watcher)
    if view is None:
        raise Problem("not-found", f"The match has the versions 1 to {live.head.version}.", params={"at": at})
    return reading.answer(request, view, reading.PRIVATE)


async def watched(request: Request, match_id: str) -> tuple[Live, Watcher]:
    """Return a match up to its last event, and as whom the caller sees it.

    Raises:
        Problem: ``not-found``, also for a private match that the caller may not watch.
    """
    return await seen_by(request.the(Views), match_id, await request.caller())
