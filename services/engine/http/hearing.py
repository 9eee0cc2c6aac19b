"""Puts every command that reaches a match into the commands log, however it ends.

The guard of the endpoint notes who sent it and when; the handler adds what it finds out on the way; and the answer
closes the entry, be it a good one or a problem from anywhere below. Commands without a valid token are nobody's, and
are not kept.
"""

from __future__ import annotations

from typing import Any, Final, cast

from litestar import Response
from msgspec import Struct

from services.contracts.events.dispute import Arrived
from services.contracts.ids import MATCH, is_id
from services.engine.disputes.command_log import CommandLog
from services.engine.disputes.entries import Entry
from services.runtime.web.authentication import needs
from services.runtime.web.problems import Problem, problem_of, response_of
from services.runtime.web.request import Request

HEARING: Final = "hearing"
OK: Final = 200

_STRANGERS: Final = frozenset({"not-found", "not-a-player"})
"""Who does not sit in the match has sent it nothing that a dispute could be about."""


class Hearing(Struct):
    """A command that is being answered, as far as it is known."""

    match: str
    player: str
    arrived_ms: int
    command: str | None = None
    move: dict[str, Any] | None = None
    if_match: int | None = None
    version: int | None = None


class hears(needs):  # noqa: N801 - it reads as a word where it is used
    """The guard of an endpoint that takes commands: it checks the scope, and opens the entry."""

    async def check(self, request: Any) -> None:
        """Refuse as ``needs`` does, and note who is heard."""
        await super().check(request)
        caller = await request.caller()
        match = str(request.path_params.get("match_id", ""))
        request.scope["state"][HEARING] = Hearing(match, caller.player, request.arrived_ms)


def heard(request: Request, command: str, if_match: int | None) -> Hearing:
    """Add how the command calls itself, and return the entry, to which the move is added once it is understood."""
    hearing = cast("Hearing", request.scope["state"][HEARING])
    hearing.command, hearing.if_match = command, if_match
    return hearing


def answered(request: Request, version: int) -> None:
    """Close the entry of a command that was accepted."""
    _close(request, status=OK, problem=None, version=version)


def refused(request: Any, error: Exception) -> Response[bytes]:
    """Close the entry of a command that was refused, and answer with the problem: an exception handler."""
    request_id: str = request.scope["state"]["request_id"]
    problem = problem_of(error, request_id)
    _close(request, status=problem.kind.status, problem=problem, version=None)
    return response_of(problem, instance=request.scope["path"], request_id=request_id)


def _close(request: Any, *, status: int, problem: Problem | None, version: int | None) -> None:
    state: dict[str, Any] = request.scope["state"]
    hearing: Hearing | None = state.get(HEARING)
    if hearing is not None:
        close(
            request.scope["litestar_app"].state,
            hearing,
            state["request_id"],
            status=status,
            problem=problem,
            version=version,
        )


def close(
    app_state: Any,
    hearing: Hearing,
    request_id: str,
    *,
    status: int,
    problem: Problem | None,
    version: int | None,
) -> None:
    """Put an entry into the log, unless it is a stranger's."""
    if not is_id(MATCH, hearing.match):
        return
    if problem is not None and problem.code in _STRANGERS:
        return
    arrived = Arrived(
        at_ms=hearing.arrived_ms, player=hearing.player, command=hearing.command, move=hearing.move,
        if_match=hearing.if_match, status=status, code=None if problem is None else problem.code,
        clause=None if problem is None else problem.clause,
        version=hearing.version if version is None else version,
        answered_ms=app_state["platform"].clock.now_ms(),
    )  # fmt: skip
    log: CommandLog = app_state["provided"][CommandLog]
    log.note(Entry(hearing.match, arrived, request_id))
