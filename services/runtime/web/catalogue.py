"""The pages that problem types point to, and the published keys."""

from __future__ import annotations

from litestar import get
from litestar.params import FromPath

from services.contracts.problems import PROBLEMS, ProblemKind
from services.runtime.tokens.jwks import JsonWebKeySet, key_set
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals


@get("/problems", tags=["reference"], operation_id="list_problems", summary="Every problem there is")
async def list_problems() -> list[ProblemKind]:
    """Return the whole catalogue."""
    return list(PROBLEMS.values())


@get(
    "/problems/{code:str}",
    tags=["reference"],
    operation_id="get_problem",
    summary="One problem explained",
    responses=refusals("not-found"),
)
async def get_problem(code: FromPath[str]) -> ProblemKind:
    """Return what a problem's ``type`` points to."""
    kind = PROBLEMS.get(code)
    if kind is None:
        raise Problem("not-found", "There is no problem of that code.")
    return kind


@get("/.well-known/jwks.json", tags=["reference"], operation_id="get_keys", summary="The keys that sign")
async def jwks(request: Request) -> JsonWebKeySet:
    """Return the public keys of tokens and records."""
    return key_set(request.platform.tokens.public_keys())
