"""The pages that problem types point to, and the published keys."""

from __future__ import annotations

from typing import cast

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from services.contracts.problems import PROBLEMS, ProblemKind
from services.runtime.tokens.jwks import JsonWebKeySet, key_set
from services.runtime.web.operations import Conditional
from services.runtime.web.problem_pages import HTML, PAGE_HEADERS, list_page, page_of
from services.runtime.web.problems import Problem
from services.runtime.web.reading import RARE, answer, bytes_answer
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals


@get(
    "/problems",
    tags=["reference"],
    operation_id="list_problems",
    operation_class=Conditional,
    summary="Every problem there is",
)
async def list_problems(request: Request) -> Response[list[ProblemKind]]:
    """Return the whole catalogue: JSON, or a page for a browser (``Accept: text/html``)."""
    if "text/html" in (request.header(b"accept") or ""):
        found = bytes_answer(request, list_page(), RARE, media_type=HTML, headers=PAGE_HEADERS)
    else:
        found = bytes_answer(request, msgspec.json.encode(list(PROBLEMS.values())), RARE)
    return cast("Response[list[ProblemKind]]", found)


@get(
    "/problems/{code:str}",
    tags=["reference"],
    operation_id="get_problem",
    operation_class=Conditional,
    summary="One problem explained",
    responses=refusals("not-found"),
)
async def get_problem(request: Request, code: FromPath[str]) -> Response[ProblemKind]:
    """Return what a problem's ``type`` points to: JSON, or a page for a browser (``Accept: text/html``)."""
    kind = PROBLEMS.get(code)
    if kind is None:
        raise Problem("not-found", "There is no problem of that code.")
    if "text/html" in (request.header(b"accept") or ""):
        found = bytes_answer(request, page_of(kind), RARE, media_type=HTML, headers=PAGE_HEADERS)
        return cast("Response[ProblemKind]", found)
    return answer(request, kind, RARE)


@get(
    "/.well-known/jwks.json",
    tags=["reference"],
    operation_id="get_keys",
    operation_class=Conditional,
    summary="The keys that sign",
)
async def jwks(request: Request) -> Response[JsonWebKeySet]:
    """Return the public keys of tokens and records."""
    return answer(request, key_set(request.platform.tokens.public_keys()), "public, max-age=60")
