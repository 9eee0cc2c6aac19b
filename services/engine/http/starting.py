"""What the lobby asks of the engine: commit to a match, and start it. Everybody may read the commitments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from litestar import Response, get, post
from litestar.params import JSONBody, Parameter
from msgspec import Meta, Struct, field

from services.engine.play.commitments import Commitments, PublicCommitment
from services.engine.play.moves import Done, KeyReused, Moves, NoSuchMatch, Refused, StartRequest
from services.engine.play.wire import Started
from services.engine.rules.catalogue import Catalogue, read_options, restore_options
from services.engine.rules.kernel import Refusal
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.idempotency import REPLAYED
from services.runtime.web.operations import Conditional, Keyed
from services.runtime.web.problems import Problem
from services.runtime.web.reading import answer
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals
from services.runtime.web.streams import VERSION_MAX


class CommitmentRequest(Body, frozen=True):
    """A table that is being opened, or whose next match is being prepared, or whose settings change.

    Attributes:
        options: as they were given; with ``completed``, as they came back from here, every option with its value.
        match_id: a match that was committed to before: it keeps its commitment, and only the settings are checked.
    """

    game: str
    seats: Annotated[int, Meta(ge=1, le=64)]
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    completed: bool = False
    match_id: str | None = None


class CommitmentAnswer(Struct, frozen=True):
    """The commitment for the next match, and the options with their defaults filled in.

    ``turn_seconds`` is the game's own thinking time, for a table that does not choose one. By ``house_rules`` no
    match is rated.
    """

    match_id: str
    commitment: str
    number: int
    game: str
    rules_version: int
    options: Any
    turn_seconds: Literal[10, 30] | None
    house_rules: bool


class CommitmentPage(Struct, frozen=True):
    """A page of the public count of commitments; ``next`` is the number to ask on after."""

    items: tuple[PublicCommitment, ...]
    next: int | None


@post(
    "/commitments",
    guards=[needs("service")],
    tags=["internal"],
    operation_id="commit",
    operation_class=Keyed,
    responses=refusals("not-found", "unknown-game", "options-invalid", "seats-invalid"),
    summary="Commit to the chance of a match",
)
async def commit(request: Request, data: JSONBody[CommitmentRequest]) -> Response[CommitmentAnswer]:
    """Check game, seats and options, draw a seed, and publish the commitment to it; once for each key.

    What is committed to is a match of a game: under one key another game is another request.
    """
    rules = request.the(Catalogue).game(data.game)
    if rules is None:
        raise Problem("unknown-game", params={"game": data.game})
    command = await request.command()
    read = restore_options if data.completed else read_options
    options = read(rules, data.options, data.seats)
    if isinstance(options, Refusal):
        raise _refused(options)
    commitments = request.the(Commitments)
    replayed = False
    if data.match_id is None:
        published = await commitments.publish(rules.name, command.id)
        if published is None:
            raise Problem("idempotency-key-reused")
        commitment, replayed = published
    else:
        known = await commitments.find(data.match_id)
        if known is None:
            raise Problem("not-found", "No commitment was published for this match.")
        commitment = known
    answered = CommitmentAnswer(
        match_id=commitment.match,
        commitment=commitment.commitment,
        number=commitment.number,
        game=rules.name,
        rules_version=rules.version,
        options=options,
        turn_seconds=rules.turn_seconds,
        house_rules=rules.house_rules(options),
    )
    return Response(answered, headers={REPLAYED: "true"} if replayed else {})


@get(
    "/commitments",
    tags=["chance"],
    operation_id="list_commitments",
    operation_class=Conditional,
    summary="Every commitment, and its reveal",
)
async def list_commitments(
    request: Request,
    after: Annotated[int, Parameter(ge=0, le=VERSION_MAX)] = 0,
    limit: Annotated[int, Parameter(ge=1, le=1000)] = 100,
) -> Response[CommitmentPage]:
    """Return commitments in the order of their public numbers; one without a seed has not been revealed."""
    items = await request.the(Commitments).page(after, limit)
    page = CommitmentPage(tuple(items), items[-1].number if len(items) == limit else None)
    return answer(request, page)


@post(
    "/matches",
    guards=[needs("service")],
    tags=["internal"],
    operation_id="start_match",
    operation_class=Keyed,
    status_code=200,
    responses=refusals(
        "not-found", "unknown-game", "options-invalid", "seats-invalid", "idempotency-key-reused"
    ),
    summary="Start a match that was committed to",
)
async def start_match(request: Request, data: JSONBody[StartRequest]) -> Response[Started]:
    """Start the match, exactly once however often it is asked for."""
    command = await request.command()
    done = await request.the(Moves).start(data, command.id, command.hash)
    match done:
        case Done():
            headers = {REPLAYED: "true"} if done.replayed else {}
            return Response(Started(data.match_id, done.version), headers=headers)
        case Refused():
            raise _refused(done.refusal)
        case KeyReused():
            raise Problem("idempotency-key-reused")
        case NoSuchMatch():
            raise Problem("not-found", "No commitment was published for this match.")


def _refused(refusal: Refusal) -> Problem:
    option, reason = refusal.params.get("option"), refusal.params.get("reason")
    detail = f"{option}: {reason}" if option and reason else str(reason or "")
    return Problem(refusal.code, detail, clause=refusal.clause, params=refusal.params)
