"""A match over a WebSocket: what its stream tells, and moves on the same connection."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import WebSocket, websocket
from litestar.params import FromPath
from msgspec import Meta, Raw, Struct

from services.engine.http.hearing import OK, Hearing, close
from services.engine.http.moving import carry_out, seen_by
from services.engine.live.match_stream import MatchSource
from services.engine.play.moves import Moves
from services.engine.play.views import Views
from services.runtime.platform import Platform
from services.runtime.tokens.caller import Caller
from services.runtime.web.idempotency import Command, command_id, key_of, request_hash
from services.runtime.web.limiting import address_of
from services.runtime.web.problems import Problem, problem_of
from services.runtime.web.request import PLATFORM
from services.runtime.web.sockets import Answer, Commands, Conversation, decoded, the
from services.runtime.web.streams import Source


class MoveMessage(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="move"):
    """A move.

    Attributes:
        key: the idempotency key: a fresh one for a new move, the same one when it is sent again.
        move: as in ``POST /v1/matches/{match_id}/moves``.
        version: the version that it was chosen at; not needed for ``leave``, ``call`` and ``catch``.
    """

    key: str
    move: Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Move"})]
    version: int | None = None


@websocket("/matches/{match_id:str}/socket")
async def match_socket(socket: WebSocket[Any, Any, Any], match_id: FromPath[str]) -> None:
    """Follow a match, and move in it."""
    views, moves = the(socket, Views), the(socket, Moves)
    platform: Platform = socket.app.state[PLATFORM]
    request_id: str = socket.scope["state"]["request_id"]

    async def opening(caller: Caller) -> tuple[Source, Commands]:
        live, watcher = await seen_by(views, match_id, caller)
        return MatchSource(views, live, watcher), command

    async def command(message: bytes, caller: Caller) -> Answer:
        sent = decoded(MoveMessage, message)
        if caller.is_anonymous:
            raise Problem("unauthenticated", "To move takes a token, in the header or in hello.")
        if "play" not in caller.scopes:
            raise Problem("forbidden", "This needs a token with the scope play.", params={"scope": "play"})
        key = key_of(sent.key)
        if key is None:
            raise Problem("idempotency-key-missing")
        # The same hash as for the same body over HTTP, so that a move can be sent again there.
        body = b'{"move":%b}' % bytes(sent.move)
        wanted = Command(
            command_id(caller.player, key), request_hash("POST", f"/v1/matches/{match_id}/moves", body)
        )
        hearing = Hearing(
            match_id,
            caller.player,
            arrived_ms=platform.clock.now_ms(),
            command=wanted.id,
            if_match=sent.version,
        )
        try:
            done = await carry_out(views, moves, match_id, caller, sent.move, sent.version, wanted, hearing)
        except Exception as error:
            problem = problem_of(error, request_id)
            close(
                socket.app.state,
                hearing,
                request_id,
                status=problem.kind.status,
                problem=problem,
                version=None,
            )
            raise problem from error
        close(socket.app.state, hearing, request_id, status=OK, problem=None, version=done.version)
        answer = {"key": sent.key, "replayed": done.replayed, "answer": Raw(done.answer)}
        return Answer("answer", done.version, msgspec.json.encode(answer))

    await Conversation(socket, opening, address_of(socket)).run()
