"""Who is asking: the bearer token of a request, and the scopes that an endpoint wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from services.runtime.tokens.caller import Caller, TokenError
from services.runtime.web.problems import Problem

if TYPE_CHECKING:
    from services.runtime.tokens.tokens import Tokens
    from services.runtime.web.request import Request

Scope = Literal["play", "audit", "operate", "service"]

_BEARER: Final = "bearer "


async def identify(authorization: str | None, tokens: Tokens) -> Caller | None:
    """Return who an ``Authorization`` header speaks for; None where there is no header.

    Raises:
        Problem: ``unauthenticated``, for a header that is there and does not hold a valid token.
    """
    if authorization is None:
        return None
    if authorization[: len(_BEARER)].lower() != _BEARER:
        raise Problem("unauthenticated", "The Authorization header is not of the form Bearer <token>.")
    try:
        return await tokens.caller_of(authorization[len(_BEARER) :].strip())
    except TokenError as error:
        raise Problem(
            "unauthenticated",
            str(error),
            headers={"WWW-Authenticate": 'Bearer realm="macao", error="invalid_token"'},
        ) from None


class needs:  # noqa: N801 - it reads as a word where it is used
    """A guard: ``@post(…, guards=[needs("play")])`` lets only callers with that scope through.

    The OpenAPI document shows the scope, too (``schema.py``).
    """

    def __init__(self, scope: Scope) -> None:
        self.scope: Final = scope

    async def __call__(
        self, connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler
    ) -> None:
        """Be a guard; see ``check``."""
        await self.check(cast("Request", connection))

    async def check(self, request: Any) -> None:
        """Refuse with ``unauthenticated`` without a token, and with ``forbidden`` without the scope."""
        caller: Caller = await request.caller()
        if self.scope in caller.scopes:
            return
        if caller.is_anonymous:
            raise Problem("unauthenticated", "This needs a token.")
        raise Problem(
            "forbidden", f"This needs a token with the scope {self.scope}.", params={"scope": self.scope}
        )
