"""Players: become a guest, become an account."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, delete, get, post, put
from litestar.params import JSONBody
from msgspec import Meta

from services.lobby.http.asking import (
    KEY_REFUSALS,
    anonymous_command,
    headers_of,
    in_person,
    in_session,
    name_in,
)
from services.lobby.players.accounts import Accounts
from services.lobby.players.guests import Guests, NewPlayer
from services.lobby.players.leaving import Leaving
from services.lobby.players.limits import PlayerLimits
from services.runtime.players import Player
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.limiting import address_of, spend
from services.runtime.web.operations import AnonymouslyKeyed, OptionallyKeyed
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

Name = Annotated[str, Meta(max_length=200, examples=["Ana"])]
Password = Annotated[str, Meta(max_length=1_000)]


class PlayerRequest(Body, frozen=True):
    """The name of a new guest; it need not be unique."""

    name: Name


class CredentialRequest(Body, frozen=True):
    """The name that the account is to have, and its password. No two accounts have names that look alike."""

    name: Name
    password: Password


class PasswordRequest(Body, frozen=True):
    """The password as it is, and as it is to be; ``end_tokens`` revokes the named tokens as well."""

    current: Password
    password: Password
    end_tokens: bool = False


@post(
    "/players",
    tags=["players"],
    operation_id="create_player",
    operation_class=AnonymouslyKeyed,
    summary="Become a guest",
    responses=refusals("name-invalid", "rate-limited", *KEY_REFUSALS),
)
async def create_player(request: Request, data: JSONBody[PlayerRequest]) -> Response[NewPlayer]:
    """Make a guest account and return its tokens.

    An ``Idempotency-Key`` is optional here. Since the answer holds tokens, it has to be long and random.
    """
    name = name_in(data.name)
    command = await anonymous_command(request, "anonymous")
    limits = await spend(request, (request.the(PlayerLimits).guests, address_of(request)))
    made, replayed = await request.the(Guests).create(name, command)
    return Response(made, headers=headers_of(limits, replayed=replayed))


@get(
    "/players/me",
    guards=[needs("play")],
    tags=["players"],
    operation_id="get_me",
    summary="Who am I?",
    responses=refusals("not-found"),
)
async def get_me(request: Request) -> Player:
    """Return the player that the token speaks for."""
    caller = await request.caller()
    player = await request.platform.players.find(caller.player)
    if player is None:
        raise Problem("not-found", "This player does not exist any more.")
    return player


@post(
    "/players/me/credential",
    guards=[needs("play")],
    tags=["players"],
    operation_id="add_credential",
    operation_class=OptionallyKeyed,
    summary="Become an account",
    responses=refusals(
        "name-invalid", "name-taken", "password-invalid", "already-account", "sign-in-needed", "rate-limited",
        *KEY_REFUSALS,
    ),
)  # fmt: skip
async def add_credential(request: Request, data: JSONBody[CredentialRequest]) -> Response[Player]:
    """Add a name and a password to the guest that the token speaks for.

    The player keeps its id, and with it everything that it has played. It takes on the name; the session goes on. An
    ``Idempotency-Key`` is optional.
    """
    caller = await in_session(request)
    name = name_in(data.name)
    command = await request.optional_command()
    limits = await spend(request, (request.the(PlayerLimits).logins, address_of(request)))
    account, replayed = await request.the(Accounts).add_credential(
        caller.player, name, data.password, command
    )
    return Response(account, headers=headers_of(limits, replayed=replayed))


@put(
    "/players/me/password",
    status_code=204,
    guards=[needs("play")],
    tags=["players"],
    operation_id="change_password",
    summary="Change the password",
    responses=refusals(
        "credentials-wrong", "password-invalid", "not-account", "sign-in-needed", "rate-limited"
    ),
)
async def change_password(request: Request, data: JSONBody[PasswordRequest]) -> None:
    """Change the password of the account that the token speaks for.

    Every other session of the account ends within five seconds, everywhere. Named tokens stay, unless ``end_tokens``.
    """
    caller = await in_session(request)
    limits = request.the(PlayerLimits)
    await spend(request, (limits.logins, address_of(request)), (limits.names, caller.player))
    await request.the(Accounts).change_password(
        caller, data.current, data.password, end_tokens=data.end_tokens
    )
    await request.platform.limiter.forgive(limits.names, caller.player)


@delete(
    "/players/me",
    guards=[needs("play")],
    tags=["players"],
    operation_id="erase_me",
    summary="Erase the account",
    responses=refusals("not-found", "match-running", "sign-in-needed"),
)
async def erase_me(request: Request) -> None:
    """Erase the player that the token speaks for, for good.

    The name, the password, every session and token, the tie to an external issuer and the player's own complaints go.
    Seats at open tables are freed. Matches that were played stay as they are; whoever looks at them reads "Erased
    player" where the name stood. Who sits in a running match leaves it first.
    """
    await request.the(Leaving).leave(await in_person(request))
