"""Every command decided again, under the rules that the match names, and compared with what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from services.contracts.envelope import Draft
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.chance import ChanceRevealed
from services.contracts.events.match import MatchStarted, MatchVoided
from services.contracts.problems import PROBLEMS
from services.engine.audit.clocks import Clocks, Outage
from services.engine.audit.facts import Told
from services.engine.audit.keys import UnknownKeyError
from services.engine.audit.verdict import Ledger, quote
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import MatchKeys
from services.engine.rules.kernel import SPECTATOR, AnyRules, Expire, Move, Refusal
from services.engine.rules.match import Match

CLOCK: Final = "clock"
PLAYER_PREFIX: Final = "p_"
NO_SALT: Final = b""

_encode: Final = msgspec.json.Encoder().encode


class Cause(Struct, frozen=True, forbid_unknown_fields=True):
    """What a command asked for, as the first of its events holds it."""

    seat: int
    move: Raw


class _Cause(Struct, frozen=True):
    seat: int
    move: Any


_decode_cause: Final = msgspec.json.Decoder(Cause).decode


class Divergence(Exception):  # noqa: N818 - it is named for what it is
    """The record and the rules part here; what comes after it stands on other ground."""

    def __init__(self, at: Told, text: str, clause: str | None = None, *, behind: bool = False) -> None:
        """Name the event; ``behind`` it, when what is wrong is that something does not follow."""
        super().__init__(text)
        self.line = at.line + behind
        self.version = at.event.version + behind
        self.text = text
        self.clause = clause


def commands_of(told: Sequence[Told]) -> list[list[Told]]:
    """Return the facts command by command."""
    return [list(group) for _, group in groupby(told, key=lambda each: each.event.command)]


def check_times(commands: Sequence[Sequence[Told]], ledger: Ledger) -> None:
    """Check that time does not run backwards, and that a command has one time, one actor, one cause and one place."""
    last_at_ms = 0
    seen: set[str] = set()
    for command in commands:
        first = command[0]
        if first.event.command in seen:
            ledger.add(
                "order", first.line, first.event.version, "this command has events elsewhere in the record"
            )
        seen.add(first.event.command)
        if first.event.at_ms < last_at_ms:
            ledger.add(
                "time", first.line, first.event.version, "this happened before the event in front of it"
            )
        last_at_ms = first.event.at_ms
        for each in command[1:]:
            if each.event.at_ms != first.event.at_ms:
                ledger.add("time", each.line, each.event.version, "events of one command have one time")
            if each.event.actor != first.event.actor:
                ledger.add("actor", each.line, each.event.version, "events of one command have one actor")
            if each.event.cause is not None:
                ledger.add(
                    "order",
                    each.line,
                    each.event.version,
                    "a cause stands on the first event of a command only",
                )


def check_decisions(
    commands: Sequence[Sequence[Told]],
    catalogue: Catalogue,
    keys: MatchKeys,
    ledger: Ledger,
    *,
    complete: bool,
    outages: Sequence[Outage] | None = None,
) -> None:
    """Decide the start and every command again, up to the first that differs, and keep the clock beside them.

    Args:
        commands: the facts of the record, command by command.
        catalogue: the rules, every version of them.
        keys: the match's keys, for the draws.
        ledger: takes the findings.
        complete: whether the facts go to the record's end. Where they do not, something else is wrong already.
        outages: when the service was down; None where that is not known.
    """
    try:
        _decide_all(commands, catalogue, keys, ledger, Clocks(outages, ledger), complete=complete)
    except Divergence as divergence:
        ledger.add("rules", divergence.line, divergence.version, divergence.text, divergence.clause)
    except UnknownKeyError:
        return  # the missing reveal has been found already


def _decide_all(
    commands: Sequence[Sequence[Told]],
    catalogue: Catalogue,
    keys: MatchKeys,
    ledger: Ledger,
    clocks: Clocks,
    *,
    complete: bool,
) -> None:
    match: Match | None = None
    for number, command in enumerate(commands):
        cut_off = not complete and number == len(commands) - 1
        if cut_off and match is not None and _may_have_been_a_void(command):
            return
        try:
            move: Move | None = None
            if match is None:
                match, expected = _start(command[0], catalogue, keys)
            else:
                expected, move = _decide(match, command, keys, ledger, clocks)
            _compare(match.rules, command, expected, cut_off=cut_off)
            for each in command:
                match = matches.evolve(match, each.fact)
            clocks.moved(match, move, command)
        except (Divergence, UnknownKeyError):
            raise
        except Exception as error:  # rules are made for what happened; what did not may break them anywhere
            raise Divergence(
                command[0], f"the rules cannot follow this: {type(error).__name__}: {error}"
            ) from error
        ledger.commands += 1
    if match is not None and complete and not match.over:
        raise Divergence(
            commands[-1][-1],
            "the match is not over here, and a record is that of a finished one",
            behind=True,
        )


def _may_have_been_a_void(command: Sequence[Told]) -> bool:
    """Say whether this can be the beginning of a void, which has no cause, and whose reason cannot be read any more."""
    return command[0].event.cause is None and all(isinstance(each.fact, ChanceRevealed) for each in command)


def _start(first: Told, catalogue: Catalogue, keys: MatchKeys) -> tuple[Match, tuple[Fact, ...]]:
    started = first.fact
    if not isinstance(started, MatchStarted):
        raise Divergence(first, "a match begins with match-started", "G1")
    if first.event.cause is not None:
        raise Divergence(first, "the start of a match has no cause")
    rules = catalogue.version(started.game, started.rules_version)
    if rules is None:
        raise Divergence(
            first,
            f"this audit does not have the rules {started.game}@{started.rules_version}, so no move was decided again",
        )
    try:
        match = matches.begin(started, catalogue)
        options = msgspec.json.decode(started.options, type=rules.options)
    except msgspec.MsgspecError as error:
        raise Divergence(
            first, f"the options are none of this game: {error}", rules.options_clause
        ) from error
    if _encode(options) != bytes(started.options):
        raise Divergence(first, "the options are not written out with every default", "G1")
    refusal = rules.check(options, frozenset(), len(started.seats))
    if refusal is not None or not rules.seats_min <= len(started.seats) <= rules.seats_max:
        raise Divergence(first, "these options or so many seats are not played", rules.options_clause)
    return match, (started, *matches.open_match(match, keys))


def _decide(
    match: Match, command: Sequence[Told], keys: MatchKeys, ledger: Ledger, clocks: Clocks
) -> tuple[tuple[Fact, ...], Move | None]:
    """Return what the rules lead to, and the move that leads there; None where a match is stopped."""
    first = command[0]
    voided = next((each.fact for each in command if isinstance(each.fact, MatchVoided)), None)
    if voided is not None:
        if first.event.actor.startswith(PLAYER_PREFIX):
            ledger.add("actor", first.line, first.event.version, "a player cannot void a match")
        if match.status == "voided":
            raise Divergence(first, "the match was void before this")
        return matches.void(match, voided.reason, keys), None
    if match.over:
        raise Divergence(first, "the match was over before this", "G9")
    if first.event.cause is None and isinstance(first.fact, ChanceRevealed):
        raise Divergence(
            first, "a command without a move voids the match: match-voided is missing here", behind=True
        )
    seat, move = read_cause(match, first)
    _check_actor(match, first, seat, move, ledger)
    clocks.check(match, move, first)
    facts = matches.decide(match, seat, move, keys)
    if isinstance(facts, Refusal):
        problem = PROBLEMS.get(facts.code)
        reason = problem.title if problem else facts.code
        raise Divergence(first, f"the rules refuse this move of seat {seat}: {reason}", facts.clause)
    return facts, move


def read_cause(match: Match, first: Told) -> tuple[int, Move]:
    """Return the seat and the move that a command was caused by, or diverge."""
    written = first.event.cause
    if written is None:
        raise Divergence(first, "a command begins here, and no move is named as its cause")
    try:
        cause = _decode_cause(written)
        move: Move = matches.move_decoder(match.rules).decode(cause.move)
    except msgspec.MsgspecError as error:
        raise Divergence(first, f"the cause is no move of this game: {error}") from error
    if _encode(_Cause(cause.seat, move)) != written:
        raise Divergence(first, "the cause is not written as causes are")
    if not 0 <= cause.seat < len(match.started.seats):
        raise Divergence(first, f"there is no seat {cause.seat} in this match", "G1")
    return cause.seat, move


def _check_actor(match: Match, first: Told, seat: int, move: Move, ledger: Ledger) -> None:
    by_clock = isinstance(move, Expire)
    if by_clock and match.started.turn_seconds is None:
        raise Divergence(first, "a clock ran out in a match that has none", "G10")
    actor = CLOCK if by_clock else match.started.seats[seat].player
    if first.event.actor != actor:
        ledger.add(
            "actor", first.line, first.event.version,
            f"the move is that of seat {seat} ({actor}), and the record names {first.event.actor}",
        )  # fmt: skip


def _compare(rules: AnyRules, command: Sequence[Told], expected: Sequence[Fact], *, cut_off: bool) -> None:
    """Compare what is recorded with what was decided, fact by fact and byte by byte."""
    for each, fact in zip(command, expected, strict=False):
        due = draft(fact, matches.redact(rules, fact, SPECTATOR), NO_SALT)
        difference = _difference(each, fact, due)
        if difference:
            raise Divergence(each, difference)
    if len(command) > len(expected):
        raise Divergence(command[len(expected)], "nothing in the rules leads to this")
    if len(command) < len(expected) and not cut_off:
        raise Divergence(command[-1], f"{_tag(expected[len(command)])} is missing here", behind=True)


def _difference(each: Told, fact: Fact, due: Draft) -> str | None:
    event = each.event
    if event.type != due.type:
        return f"the rules lead to {due.type} here, and the record says {event.type}"
    if event.schema == due.schema:
        whole = due.body if due.sealed is None else due.sealed
        if event.whole != whole:
            return f"the rules lead to {quote(whole)}, and the record says {quote(event.whole)}"
        if event.body != due.body:
            return f"the public part has to be {quote(due.body)}, and is {quote(event.body)}"
    elif each.fact != fact:
        return "the rules lead to another outcome than an older form of this event records"
    if (event.sealed is None) != (due.sealed is None):
        return "what has to be sealed lies open, or the other way round"
    return None


def _tag(fact: Fact) -> str:
    return str(fact.__struct_config__.tag)
