"""The log of the whole service: what was signed about it, and proofs. Hashes only: everybody may read all of it."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from litestar import Response, get
from litestar.params import FromPath, Parameter
from msgspec import Struct

from services.contracts.checkpoint import Checkpoint, MatchReceipt
from services.contracts.ids import DEFAULT_LOG
from services.contracts.loss import Loss
from services.contracts.merkle import SIZE_MAX
from services.engine.http.playing import watched
from services.runtime.tree import LogProofs, NotSealedError
from services.runtime.web.operations import Conditional
from services.runtime.web.problems import Problem
from services.runtime.web.reading import FOREVER, answer
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals

RETRY: Final = {"Retry-After": "2"}


LogName: TypeAlias = Annotated[
    str,
    Parameter(
        pattern="^[a-z][a-z0-9]{0,31}$",
        description="Which log, where an installation has several: as in the ids of its matches, and in checkpoints.",
    ),
]


class CheckpointPage(Struct, frozen=True):
    """A page of checkpoints by size; ``next`` is the size to ask on after."""

    items: tuple[Checkpoint, ...]
    next: int | None


class LossList(Struct, frozen=True):
    """Every loss that was declared; there are hardly any, so there is one page."""

    items: tuple[Loss, ...]
    next: None = None


class InclusionProof(Struct, frozen=True):
    """The proof that an event is in the log of the first ``size`` events.

    Attributes:
        leaf: the hash of its leaf, 64 hex digits. Which event that is, who knows the event can work out.
        proof: the hashes from the leaf's sibling up to the root.
    """

    position: int
    size: int
    leaf: str
    proof: tuple[str, ...]


class ConsistencyProof(Struct, frozen=True):
    """The proof that the log of the first ``second`` events begins with the log of the first ``first``."""

    first: int
    second: int
    proof: tuple[str, ...]


@get(
    "/log/checkpoint",
    tags=["log"],
    operation_id="get_checkpoint",
    operation_class=Conditional,
    responses=refusals("not-found", "not-sealed"),
    summary="The newest signed checkpoint of the log",
)
async def get_checkpoint(request: Request, log: LogName = DEFAULT_LOG) -> Response[Checkpoint]:
    """Return how long the log is, and the root of the tree over it, signed.

    Keep one: ``/log/proofs/consistency`` shows later that the log only grew since.
    """
    newest = await _proofs(request, log).newest()
    if newest is None:
        raise Problem("not-sealed", params={"size": 0}, headers=RETRY)
    return answer(request, newest, "no-cache")


@get(
    "/log/checkpoints",
    tags=["log"],
    operation_id="list_checkpoints",
    operation_class=Conditional,
    responses=refusals("not-found"),
    summary="Every signed checkpoint",
)
async def list_checkpoints(
    request: Request,
    after: Annotated[int, Parameter(ge=0, le=SIZE_MAX, description="The size to read on after.")] = 0,
    limit: Annotated[int, Parameter(ge=1, le=1000)] = 100,
    log: LogName = DEFAULT_LOG,
) -> Response[CheckpointPage]:
    """Return checkpoints in the order of their sizes."""
    items = await _proofs(request, log).checkpoints(after, limit)
    page = CheckpointPage(tuple(items), items[-1].size if len(items) == limit else None)
    return answer(request, page)


@get(
    "/log/losses",
    tags=["log"],
    operation_id="list_losses",
    operation_class=Conditional,
    responses=refusals("not-found"),
    summary="Every end of the log that was signed and is lost",
)
async def list_losses(request: Request, log: LogName = DEFAULT_LOG) -> Response[LossList]:
    """Return what operators have declared to be lost, in their order; usually nothing.

    Checkpoints of more than ``kept`` events that are not younger than ``at_ms`` do not count any more.
    """
    return answer(request, LossList(tuple(await _proofs(request, log).losses())), "no-cache")


@get(
    "/log/proofs/inclusion",
    tags=["log"],
    operation_id="prove_inclusion",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "not-sealed"),
    summary="Proof that an event is in the log",
)
async def prove_inclusion(
    request: Request,
    position: Annotated[
        int | None,
        Parameter(
            ge=1, le=SIZE_MAX, description="Where the event stands in the log; or `match` and `version`."
        ),
    ] = None,
    match: Annotated[str | None, Parameter(description="The match of the event, with `version`.")] = None,
    version: Annotated[int | None, Parameter(ge=1, le=SIZE_MAX)] = None,
    size: Annotated[
        int | None,
        Parameter(
            ge=1, le=SIZE_MAX, description="Of which tree; the newest checkpoint's, if it is not given."
        ),
    ] = None,
    log: LogName = DEFAULT_LOG,
) -> Response[InclusionProof]:
    """Return the hashes with which the leaf of an event leads to the root of a checkpoint (RFC 6962, section 2.1.1)."""
    proofs = _proofs(request, log) if match is None else request.the(LogProofs).of_stream(match)
    where = await _position(request, proofs, position, match, version)
    newest = await proofs.newest()
    within = size if size is not None else newest.size if newest else 0
    if newest is None or where > newest.size:
        raise Problem("not-sealed", params={"size": newest.size if newest else 0}, headers=RETRY)
    if where > within:
        raise Problem(
            "malformed-request", f"A log of {within} events has no position {where}.", params={"at": "size"}
        )
    try:
        leaf, proof = await proofs.inclusion(where, within)
    except NotSealedError as error:
        raise Problem("not-sealed", params={"size": error.size}, headers=RETRY) from None
    proven = InclusionProof(where, within, leaf.hex(), tuple(part.hex() for part in proof))
    return answer(request, proven, FOREVER if size is not None else "no-cache")


@get(
    "/log/proofs/consistency",
    tags=["log"],
    operation_id="prove_consistency",
    operation_class=Conditional,
    responses=refusals("not-found", "not-sealed"),
    summary="Proof that the log only grew",
)
async def prove_consistency(
    request: Request,
    first: Annotated[int, Parameter(ge=1, le=SIZE_MAX, description="The size of the older checkpoint.")],
    second: Annotated[int, Parameter(ge=1, le=SIZE_MAX, description="The size of the newer one.")],
    log: LogName = DEFAULT_LOG,
) -> Response[ConsistencyProof]:
    """Return the hashes that lead from two checkpoints' common nodes to both roots (RFC 6962, section 2.1.2)."""
    if first > second:
        raise Problem(
            "malformed-request", "first is the smaller size, second the larger.", params={"at": "first"}
        )
    try:
        proof = await _proofs(request, log).consistency(first, second)
    except NotSealedError as error:
        raise Problem("not-sealed", params={"size": error.size}, headers=RETRY) from None
    return answer(request, ConsistencyProof(first, second, tuple(part.hex() for part in proof)), FOREVER)


@get(
    "/matches/{match_id:str}/receipt",
    tags=["records"],
    operation_id="get_receipt",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged", "match-not-over", "not-sealed"),
    summary="The receipt of a finished match",
)
async def get_receipt(request: Request, match_id: FromPath[str]) -> Response[MatchReceipt]:
    """Return the proof that the match stands in the signed log, as the closing line of its record has it.

    Keep it: with it you can show later, whatever the service says then, that its history was rewritten.
    """
    live, _ = await watched(request, match_id)
    if not live.match.over:
        raise Problem("match-not-over")
    receipt = await request.the(LogProofs).receipt(match_id, live.head.version)
    if receipt is None:
        raise Problem("not-sealed", headers=RETRY)
    found = MatchReceipt(
        match=match_id, version=live.head.version, hash=live.head.hash.hex(), receipt=receipt
    )
    # A ruling may void the match after its end, and then it has another end, and a receipt for that.
    return answer(request, found, "public, no-cache")


def _proofs(request: Request, log: str) -> LogProofs:
    """Return the proofs of a log.

    Raises:
        Problem: ``not-found``.
    """
    found = request.the(LogProofs).of(log)
    if found is None:
        raise Problem("not-found", f"There is no log {log}.")
    return found


async def _position(
    request: Request, proofs: LogProofs, position: int | None, match: str | None, version: int | None
) -> int:
    """Return which event was asked for.

    Raises:
        Problem: ``malformed-request`` where that is not clear, ``not-found`` where there is none or it may not be seen.
    """
    if position is not None and match is None and version is None:
        return position
    if position is not None or match is None or version is None:
        raise Problem("malformed-request", "Give position, or match and version.", params={"at": "position"})
    await watched(request, match)
    found = await proofs.position_of(match, version)
    if found is None:
        raise Problem("not-found", "The match has no such version.")
    return found
