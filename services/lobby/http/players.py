"""Players and their tokens."""

from __future__ import annotations

from typing import Annotated, Final

from litestar import Response, get, post
from litestar.params import JSONBody
from msgspec import Meta

from services.lobby.players.guests import Guests, Issued, NewPlayer
from services.lobby.players.names import LENGTH_MAX, LENGTH_MIN, fault_of, tidied
from services.runtime.players import Player
from services.runtime.tokens.refreshing import hash_of
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.idempotency import HEADER, REPLAYED
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

ANONYMOUS_KEY_MIN: Final = 20
"""Without a token nothing but the key tells two clients apart, and the answer holds a token: it must not be guessed."""

_RULES: Final = {
    "length": f"A name has {LENGTH_MIN} to {LENGTH_MAX} characters.",
    "characters": "A name has letters, digits, spaces, - and _ only.",
    "beginning": "A name begins with a letter.",
    "spaces": "A name has no two spaces in a row.",
    "scripts": "A name does not mix scripts whose letters look alike.",
}


class PlayerRequest(Body, frozen=True):
    """The name of a new guest; it need not be unique."""

    name: Annotated[str, Meta(max_length=200, examples=["Ana"])]


class RefreshRequest(Body, frozen=True):
    """The refresh token that came with the last token. It is good once."""

    refresh_token: Annotated[str, Meta(max_length=200)]


@post(
    "/players",
    tags=["players"],
    operation_id="create_player",
    summary="Become a guest",
    responses=refusals("name-invalid", "idempotency-key-malformed", "idempotency-key-reused"),
)
async def create_player(request: Request, data: JSONBody[PlayerRequest]) -> Response[NewPlayer]:
    """Make a guest account and return its tokens.

    An ``Idempotency-Key`` is optional here. Since the answer holds tokens, it has to be long and random.
    """
    name = tidied(data.name)
    fault = fault_of(name)
    if fault is not None:
        raise Problem("name-invalid", _RULES[fault], params={"rule": fault})
    key = request.headers.get(HEADER)
    if key is not None and len(key) < ANONYMOUS_KEY_MIN:
        raise Problem(
            "idempotency-key-malformed",
            f"Without a token the key has to have at least {ANONYMOUS_KEY_MIN} characters, drawn at random.",
        )
    command = await request.optional_command("anonymous")
    made, replayed = await request.the(Guests).create(name, command)
    return Response(made, headers=_headers(replayed=replayed))


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
    "/tokens/refresh",
    status_code=200,
    tags=["players"],
    operation_id="refresh_token",
    summary="Get the next token",
    responses=refusals("refresh-token-invalid", "idempotency-key-malformed", "idempotency-key-reused"),
)
async def refresh_token(request: Request, data: JSONBody[RefreshRequest]) -> Response[Issued]:
    """Exchange a refresh token for a token and the next refresh token.

    A refresh token that comes a second time ends the session, as it is then in two hands. Send an
    ``Idempotency-Key``, and a retry of the same request gets the first answer instead.
    """
    # The secret itself tells clients apart, so that a short key does no harm.
    command = await request.optional_command(hash_of(data.refresh_token).hex())
    issued, replayed = await request.the(Guests).refresh(data.refresh_token, command)
    return Response(issued, headers=_headers(replayed=replayed))


def _headers(*, replayed: bool) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if replayed:
        headers[REPLAYED] = "true"
    return headers
