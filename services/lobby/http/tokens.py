"""Tokens: sign in, go on, log out; and named tokens for programs."""

from __future__ import annotations

from typing import Annotated, Literal

from litestar import Response, delete, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from services.lobby.http.asking import KEY_REFUSALS, anonymous_command, headers_of, in_person
from services.lobby.http.players import Name, Password
from services.lobby.players.accounts import Accounts
from services.lobby.players.guests import NewPlayer
from services.lobby.players.limits import PlayerLimits, subject_of
from services.lobby.players.sessions import Issued, NewToken, Sessions
from services.runtime.tokens.named import DAYS_MAX, NamedToken
from services.runtime.tokens.refreshing import hash_of
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.limiting import address_of, spend
from services.runtime.web.operations import AnonymouslyKeyed, OptionallyKeyed
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import SCHEME, refusals


class SignInRequest(Body, frozen=True):
    """The name and the password of an account."""

    name: Name
    password: Password


class RefreshRequest(Body, frozen=True):
    """The refresh token that came with the last token. It is good once."""

    refresh_token: Annotated[str, Meta(max_length=200)]


class TokenRequest(Body, frozen=True):
    """What the token is to be called, what it is to be good for, and for how many days."""

    name: Annotated[
        str, Meta(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["my bot"])
    ]
    scopes: Annotated[list[Literal["play", "audit", "operate"]], Meta(min_length=1, max_length=3)]
    days: Annotated[int, Meta(ge=1, le=DAYS_MAX)] = 90


class TokenList(Struct, frozen=True):
    """All of them, oldest first: ``next`` is always null, as there are never more than a page."""

    items: list[NamedToken]
    next: str | None = None


@post(
    "/tokens",
    status_code=200,
    tags=["tokens"],
    operation_id="sign_in",
    operation_class=AnonymouslyKeyed,
    summary="Sign in",
    responses=refusals("credentials-wrong", "rate-limited", *KEY_REFUSALS),
)
async def sign_in(request: Request, data: JSONBody[SignInRequest]) -> Response[NewPlayer]:
    """Begin a session of an account.

    Whether the name or the password is wrong is not told. An ``Idempotency-Key`` is optional, and has to be long and
    random.
    """
    limits, subject = request.the(PlayerLimits), subject_of(data.name)
    command = await anonymous_command(request, f"sign-in {subject}")
    told = await spend(request, (limits.logins, address_of(request)), (limits.names, subject))
    made, replayed = await request.the(Accounts).sign_in(data.name, data.password, command)
    await request.platform.limiter.forgive(limits.names, subject)
    return Response(made, headers=headers_of(told, replayed=replayed))


@post(
    "/tokens/refresh",
    status_code=200,
    tags=["tokens"],
    operation_id="refresh_token",
    operation_class=OptionallyKeyed,
    summary="Get the next token",
    responses=refusals("refresh-token-invalid", *KEY_REFUSALS),
)
async def refresh_token(request: Request, data: JSONBody[RefreshRequest]) -> Response[Issued]:
    """Exchange a refresh token for a token and the next refresh token.

    A refresh token that comes a second time ends the session, as it is then in two hands. Send an
    ``Idempotency-Key``, and a retry of the same request gets the first answer instead. Scopes that were granted since
    are in the new token.
    """
    # The secret itself tells clients apart, so that a short key does no harm.
    command = await request.optional_command(hash_of(data.refresh_token).hex())
    issued, replayed = await request.the(Sessions).refresh(data.refresh_token, command)
    return Response(issued, headers=headers_of(replayed=replayed))


@delete(
    "/tokens/current",
    tags=["tokens"],
    operation_id="log_out",
    summary="Log out",
    security=[{SCHEME: []}],
    responses=refusals("unauthenticated", "sign-in-needed"),
)
async def log_out(request: Request) -> None:
    """End the session that the token belongs to, with its refresh token; or the token itself, if it has none.

    Within five seconds no service takes it any more, and the streams that it opened end.
    """
    caller = await request.caller()
    if caller.is_anonymous:
        raise Problem("unauthenticated", "This needs a token.")
    if not caller.session:
        raise Problem("sign-in-needed", "This token belongs to no session; it ends by itself.")
    await request.the(Sessions).end(caller)


@post(
    "/players/me/tokens",
    guards=[needs("play")],
    tags=["tokens"],
    operation_id="make_token",
    operation_class=OptionallyKeyed,
    summary="Make a named token",
    responses=refusals("sign-in-needed", "too-many-tokens", *KEY_REFUSALS),
)
async def make_token(request: Request, data: JSONBody[TokenRequest]) -> Response[NewToken]:
    """Make a long-lived token for a program, with scopes that you have yourself. It is shown this once.

    An ``Idempotency-Key`` is optional. A named token makes no others, and cannot touch the account's password.
    """
    caller = await in_person(request)
    command = await request.optional_command()
    made, replayed = await request.the(Sessions).name_token(
        caller, data.name, data.scopes, data.days, command
    )
    return Response(made, headers=headers_of(replayed=replayed))


@get(
    "/players/me/tokens",
    guards=[needs("play")],
    tags=["tokens"],
    operation_id="list_tokens",
    summary="My named tokens",
    responses=refusals("sign-in-needed"),
)
async def list_tokens(request: Request) -> Response[TokenList]:
    """List the named tokens that are still good, without what was shown once."""
    caller = await in_person(request)
    found = TokenList(await request.the(Sessions).tokens_of(caller))
    return Response(found, headers=headers_of(replayed=False))


@delete(
    "/players/me/tokens/{token_id:str}",
    guards=[needs("play")],
    tags=["tokens"],
    operation_id="revoke_token",
    summary="Revoke a named token",
    responses=refusals("sign-in-needed", "not-found"),
)
async def revoke_token(request: Request, token_id: FromPath[str]) -> None:
    """Revoke a named token: within five seconds no service takes it any more."""
    await request.the(Sessions).end_token(await in_person(request), token_id)
