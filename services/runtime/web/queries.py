"""Query parameters that an endpoint does not know are refused: a misspelt filter would otherwise filter nothing.

So is one that comes twice: of two values one would count, and who sent them, or a proxy on the way, may mean the other.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.handlers.base import BaseRouteHandler
from litestar.params import ParameterKwarg

from services.runtime.web.edge import IN_API
from services.runtime.web.problems import Problem


async def only_known(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Be a guard: refuse a query with ``malformed-request`` for a name that is not known, or that comes twice."""
    scope = connection.scope
    if scope["type"] != ScopeType.HTTP or not scope["query_string"] or not scope["path"].startswith(IN_API):
        return
    known = _known(handler) - connection.path_params.keys()
    given = Counter(name for name, _ in connection.query_params.multi_items())
    unknown = sorted(given.keys() - known)
    if unknown:
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise Problem(
            "malformed-request",
            f"This endpoint has no query parameter {unknown[0][:64]!r}: {takes}.",
            params={"at": unknown[0][:64]},
        )
    twice = sorted(name for name, times in given.items() if times > 1)
    if twice:
        raise Problem(
            "malformed-request",
            f"The query parameter {twice[0]!r} is given {given[twice[0]]} times: once at most.",
            params={"at": twice[0]},
        )


@lru_cache(maxsize=512)
def _known(handler: BaseRouteHandler) -> frozenset[str]:
    declared = {
        name: parameter.kwarg_definition
        for name, parameter in handler.parsed_fn_signature.parameters.items()
        if isinstance(parameter.kwarg_definition, ParameterKwarg)
    }
    return frozenset(
        definition.query or definition.name or name
        for name, definition in declared.items()
        if not definition.header and not definition.cookie
    )
