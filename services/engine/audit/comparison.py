"""What a match would have been under other rules: decided again, up to the first event that would be another.

A fix of the rules is a new version of the game, and every match stays decided under its own. To see what a fix changes
in a match, its moves are decided again under the other version, with the chance that it had. That is a thought and no
verdict: the record is judged by its own rules alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, cast

import msgspec
from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import MatchFact, encode, fact_of
from services.contracts.events.chance import SeedRevealed
from services.contracts.events.match import MatchStarted, MatchVoided
from services.contracts.problems import PROBLEMS
from services.engine.audit.decisions import Divergence, commands_of, read_cause
from services.engine.audit.facts import Told
from services.engine.audit.verdict import quote
from services.engine.record import Record
from services.engine.rules import match as matches
from services.engine.rules.chance import MatchKeys, match_key
from services.engine.rules.kernel import AnyRules, Refusal
from services.engine.rules.match import Match
from services.engine.words import move_in_words, seat_name, sentence

OPENING: Final = "the start of the match"


class Difference(Struct, frozen=True):
    """Where the match would have gone another way.

    Attributes:
        version: the first event that would be another, or that would be missing or one too many.
        command_version: the first event of the command that it belongs to.
        seat: who moved; None for the start of the match, or its being stopped.
        move: the move in words.
        recorded: what happened; None where the other rules lead to one event more.
        decided: what the other rules lead to, None where they lead to nothing more.
        clause: the clause with which the other rules refuse the move, if they do.
    """

    version: int
    command_version: int
    seat: int | None
    move: str
    recorded: str | None
    decided: str | None
    clause: str | None = None


class Comparison(Struct, frozen=True):
    """A match under other rules than its own.

    Attributes:
        own: the rules that it was played under.
        other: those that it was decided under here.
        commands: how many commands lead to the same under both, the start of the match included.
        difference: the first that does not; None where none differs.
    """

    own: str
    other: str
    commands: int
    difference: Difference | None


class NotComparableError(ValueError):
    """These rules are those of another game, or the record is not that of a whole match."""


def compare(record: Record, other: AnyRules) -> Comparison:
    """Decide a match again under other rules of the same game. The record has to be sound: audit it before.

    Raises:
        NotComparableError: the rules are those of another game.
    """
    told = [Told(line, event, fact_of(event)) for line, event in enumerate(record.events, 2)]
    return compare_facts(told, other)


def compare_facts(told: Sequence[Told], other: AnyRules) -> Comparison:
    """Decide the facts of a whole match again under other rules of the same game.

    Raises:
        NotComparableError: the rules are those of another game, or these are not the facts of a whole match.
    """
    started = told[0].fact if told else None
    seed = next((each.fact.seed for each in told if isinstance(each.fact, SeedRevealed)), None)
    if not isinstance(started, MatchStarted) or seed is None:
        raise NotComparableError("only a match that is over can be decided under other rules")
    if other.name != started.game:
        raise NotComparableError(f"{other.id} are rules of another game than {started.game}")
    own = f"{started.game}@{started.rules_version}"
    # The chance of the match is that of its own rules, whichever it is decided under.
    secret = bytes.fromhex(seed)
    keys = MatchKeys(secret, match_key(started.match, own, [seat.seed for seat in started.seats], secret))
    match = _begin(started, other)
    same = 0
    for command in commands_of(told):
        if isinstance(match, Match):
            match = _follow(match, command, keys)
        if isinstance(match, Difference):
            return Comparison(own, other.id, same, match)
        same += 1
    return Comparison(own, other.id, same, _end(match, told[-1]))


def describe_comparison(comparison: Comparison) -> str:
    """Return a comparison in plain words."""
    own, other, found = comparison.own, comparison.other, comparison.difference
    if found is None:
        return f"Under {other} the match goes the same way, all {comparison.commands} commands."
    who = "" if found.seat is None else f"{seat_name(found.seat)}: "
    nothing = "nothing more follows"
    return "\n".join(
        [
            f"Under {other} the match goes another way from version {found.version} on.",
            f"- The move: {who}{found.move} (version {found.command_version}).",
            f"- Under {own}, as recorded: {found.recorded or nothing}.",
            f"- Under {other}: {found.decided or nothing}{f' ({found.clause})' if found.clause else ''}.",
            f"- {comparison.commands} commands before it lead to the same under both.",
        ]
    )


def _begin(started: MatchStarted, rules: AnyRules) -> Match | Difference:
    begun = "The match begins with its options"
    try:
        options = msgspec.json.decode(started.options, type=rules.options)
    except msgspec.MsgspecError as error:
        return Difference(1, 1, None, OPENING, begun, f"These are no options: {error}", rules.options_clause)
    refusal = rules.check(options, frozenset(), len(started.seats))
    if refusal is not None or not rules.seats_min <= len(started.seats) <= rules.seats_max:
        clause = rules.options_clause if refusal is None else refusal.clause
        return Difference(1, 1, None, OPENING, begun, "Such a match is not played", clause)
    return Match(started=started, rules=rules, game=rules.initial(options, len(started.seats)))


def _follow(match: Match, command: Sequence[Told], keys: MatchKeys) -> Match | Difference:
    """Return the match after a command, if that leads to the same under its rules as it did."""
    first = command[0]
    at = first.event.version
    seat, move = None, "what was asked for"
    try:
        seat, move, decided = _decide(match, command, keys)
    except Divergence as divergence:
        reason = f"Not possible: {divergence.text}"
        return Difference(at, at, None, move, _words(first.fact), reason, divergence.clause)
    if isinstance(decided, Refusal):
        problem = PROBLEMS.get(decided.code)
        refused = f"The move is refused: {problem.title if problem else decided.code}"
        return Difference(at, at, seat, move, _words(first.fact), refused, decided.clause)
    for place, (each, fact) in enumerate(zip_longest(command, decided)):
        recorded = None if each is None else each.fact
        if recorded is None or fact is None or encode(recorded) != encode(fact):
            told = _words(recorded, fact), _words(fact, recorded)
            return Difference(at + place, at, seat, move, *told)
        match = matches.evolve(match, fact)
    return match


def _end(match: Match | Difference, last: Told) -> Difference | None:
    """Say where a match that is over would go on under the other rules."""
    if isinstance(match, Difference) or match.over:
        return None
    after = last.event.version + 1
    return Difference(after, after, None, "the end of the match", None, "The match goes on")


def _words(fact: Fact | None, beside: Fact | None = None) -> str | None:
    """Return a fact as a sentence, and as JSON where the sentence says the same of the other one."""
    if fact is None:
        return None
    told = sentence(cast("MatchFact", fact))
    if beside is not None and told == sentence(cast("MatchFact", beside)):
        return quote(encode(fact))
    return told


def _decide(
    match: Match, command: Sequence[Told], keys: MatchKeys
) -> tuple[int | None, str, tuple[Fact, ...] | Refusal]:
    """Return who moved, the move in words, and what the match's rules lead to."""
    first = command[0]
    if isinstance(first.fact, MatchStarted):
        return None, OPENING, (first.fact, *matches.open_match(match, keys))
    for each in command:
        if isinstance(each.fact, MatchVoided):
            return None, "the match was stopped", matches.void(match, each.fact.reason, keys)
    seat, move = read_cause(match, first)
    return seat, move_in_words(move), matches.decide(match, seat, move, keys)
