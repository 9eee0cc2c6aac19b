"""Looking at a match and moving in it, whichever way the request came: over HTTP or over a WebSocket."""

from __future__ import annotations

from typing import get_args

import msgspec
from msgspec import Raw

from services.contracts.ids import MATCH, is_id
from services.engine.disputes.entries import kept_move
from services.engine.http.hearing import Hearing
from services.engine.play.live import Live
from services.engine.play.moves import (
    Busy,
    Done,
    KeyReused,
    Moves,
    NoSuchMatch,
    NotAPlayer,
    Refused,
    Stale,
)
from services.engine.play.views import Views, Watcher
from services.engine.rules.kernel import AnyRules, Move
from services.runtime.tokens.caller import Caller
from services.runtime.web.bodies import strictly
from services.runtime.web.conditions import etag
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem


async def seen_by(views: Views, match_id: str, caller: Caller) -> tuple[Live, Watcher]:
    """Return a match up to its last event, and as whom the caller sees it.

    Raises:
        Problem: ``not-found``, also for a private match that the caller may not watch.
    """
    live = await views.find(match_id) if is_id(MATCH, match_id) else None
    if live is None:
        raise _no_match()
    watcher = views.watcher(live.match, caller.player or None, auditor="audit" in caller.scopes)
    if watcher is None:
        raise _no_match()
    return live, watcher


async def carry_out(
    views: Views,
    moves: Moves,
    match_id: str,
    caller: Caller,
    raw: Raw,
    if_match: int | None,
    command: Command,
    hearing: Hearing,
) -> Done:
    """Carry out a move that was sent as JSON, and add to ``hearing`` what is found out on the way.

    Raises:
        Problem: every refusal, in the words of the catalogue. Whoever may not see a match is not told that it exists.
    """
    wanted = await _decode_move(views, moves, match_id, caller, raw)
    hearing.move = kept_move(wanted)
    if if_match is None and not wanted.ANY_VERSION:
        await seen_by(views, match_id, caller)
        raise Problem("version-missing")
    done = await moves.move(
        match_id,
        caller.player,
        wanted,
        if_match=None if wanted.ANY_VERSION else if_match,
        command=command.id,
        request_hash=command.hash,
    )
    match done:
        case Done():
            return done
        case Refused():
            refusal, hearing.version = done.refusal, done.version
            raise Problem(refusal.code, clause=refusal.clause, params=refusal.params, legal=list(done.legal))
        case Stale():
            hearing.version = done.version
            raise Problem(
                "stale-version", params={"version": done.version}, headers={"ETag": etag(done.version)}
            )
        case KeyReused():
            raise Problem("idempotency-key-reused")
        case NotAPlayer():
            await seen_by(views, match_id, caller)
            raise Problem("not-a-player")
        case NoSuchMatch():
            raise _no_match()
        case Busy():
            raise Problem("unavailable", "Other moves kept coming first.")


async def _decode_move(views: Views, moves: Moves, match_id: str, caller: Caller, raw: Raw) -> Move:
    rules = await moves.rules_of(match_id) if is_id(MATCH, match_id) else None
    if rules is None:
        raise _no_match()
    try:
        return _move_of(rules, raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        await seen_by(views, match_id, caller)
        # A raw part of a body was only skipped until now: its strings may yet turn out not to be UTF-8.
        raise Problem(
            "malformed-request",
            f"This is no move of {rules.name}, which has {', '.join(move_types(rules))}: {error}",
            params={"at": "$.move"},
        ) from None


def _move_of(rules: AnyRules, raw: Raw) -> Move:
    wanted: Move = strictly(rules.moves, raw)
    return wanted


def move_types(rules: AnyRules) -> list[str]:
    """Return the moves of a game by their type."""
    return [str(kind.__struct_config__.tag) for kind in get_args(rules.moves)]


def _no_match() -> Problem:
    return Problem("not-found", "There is no such match, or you may not watch it.")
