"""Matches that were really played, for the examples of the API's documentation: the same ones every time.

Seed, players and moves are fixed, so the examples change when the rules or the shapes on the wire do, and only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Raw, Struct

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine.audit import audit
from services.engine.audit.verdict import Verdict
from services.engine.play.moves import Cause
from services.engine.play.wire import (
    ClockView,
    EventBytes,
    EventPage,
    EventView,
    MatchView,
    event_view,
    match_view,
    move_answer,
)
from services.engine.record import header_of, read_record, write_record
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.catalogue import CATALOGUE, read_options
from services.engine.rules.chance import SEED_BYTES, MatchKeys, commitment_of
from services.engine.rules.kernel import SPECTATOR, AnyRules, Move, Refusal
from services.engine.rules.match import Match

PLAYERS: Final = {"p_01KB9YPZ3M5N7P9R1T3V5X7Z9A": "Anna", "p_01KB9YQ04N6P8R0T2V4X6Z8A0C": "Bela"}
TABLE: Final = "t_01KB9YQ3V7T2M4N5P6R7S8T9VW"
MATCH: Final = "m_01KB9YQ9D1F3H5K7M9P1R3T5V7"
BEGUN_AT_MS: Final = 1_764_495_000_000
MOVES_SHOWN: Final = 7
MOVES_MAX: Final = 2_000

_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Command:
    """A move of an example match: what was sent, and what it led to."""

    seat: int
    move: Move
    before: Match
    after: Match
    events: list[Event]


@dataclass(slots=True)
class Example:
    """A match, move by move."""

    match: Match
    keys: MatchKeys
    head: Head = field(default_factory=Head)
    events: list[Event] = field(default_factory=list[Event])
    commands: list[Command] = field(default_factory=list[Command])

    def view(self, seat: int) -> MatchView:
        """Show the match to one of its players."""
        waiting = matches.pending(self.match)
        clock = None
        if waiting is not None:
            now_ms = self.events[-1].at_ms + 1_500
            clock = ClockView(waiting.turn, 30, self.events[-1].at_ms + 30_000, now_ms)
        return match_view(self.match, self.head.version, seat=seat, viewer=seat, names=PLAYERS, clock=clock)

    def event_views(self, seat: int, events: Sequence[Event]) -> tuple[EventView, ...]:
        """Show events to one of its players while it runs."""
        return tuple(event_view(event, self.match, seat, over=False) for event in events)

    def page(self, seat: int, count: int) -> EventPage:
        """Show the first events."""
        return EventPage(self.event_views(seat, self.events[:count]), count)


def played(rules: AnyRules, moves: int) -> Example:
    """Return a match of two after so many moves, or when it is over."""
    options = read_options(rules, {}, len(PLAYERS))
    if isinstance(options, Refusal):
        raise TypeError(f"{rules.name} refuses its own defaults")
    seed = sha256(f"example of {rules.id}".encode()).digest()[:SEED_BYTES]
    started = MatchStarted(
        match=MATCH,
        table=TABLE,
        game=rules.name,
        rules_version=rules.version,
        options=Raw(_encode(options)),
        seats=tuple(SeatTaken(player, f"luck-of-{name}") for player, name in PLAYERS.items()),
        turn_seconds=30,
        rated=True,
        visibility="public",
        commitment=commitment_of(MATCH, seed),
        commitment_number=42,
    )
    match = matches.begin(started, CATALOGUE)
    keys = matches.keys_of(match, seed)
    example = Example(match, keys)
    _tell(example, (started, *matches.open_match(match, keys)), "lobby", "start", None)
    for number in range(moves):
        waiting = matches.pending(example.match)
        if waiting is None:
            break
        seat = waiting.turn
        legal = matches.legal(example.match, seat)
        move = _chosen(legal[(5 * number + number // 3) % len(legal)])
        facts = matches.decide(example.match, seat, move, keys)
        if isinstance(facts, Refusal):
            raise TypeError(f"{rules.name} refuses a legal move")
        before, known = example.match, len(example.events)
        player = example.match.started.seats[seat].player
        _tell(example, facts, player, f"move-{number}", _encode(Cause(seat, move)))
        example.commands.append(Command(seat, move, before, example.match, example.events[known:]))
    return example


def finished(rules: AnyRules) -> Example:
    """Return a match that was played to its end."""
    return played(rules, MOVES_MAX)


def record_of(example: Example) -> list[bytes]:
    """Return the lines of a finished match's record, signed with a key that anybody can make."""
    key = Ed25519PrivateKey.from_private_bytes(sha256(b"example").digest())
    header = header_of(example.events[0], key_id="example", public_key=key.public_key().public_bytes_raw())
    return list(write_record(header, example.events, lambda message: ("example", key.sign(message))))


def verdict_on(lines: list[bytes]) -> Verdict:
    """Return what an audit of the record says."""
    return audit(read_record(lines), CATALOGUE)


def answers(example: Example) -> Iterator[tuple[Command, Any]]:
    """Return the commands of a match with their answers."""
    for command in example.commands:
        answer = move_answer(command.after, command.seat, command.events, EventBytes())
        yield command, msgspec.json.decode(answer)


def _chosen(entry: Struct) -> Move:
    match entry:
        case StakeRange():
            return Stake(entry.min)
        case Move():
            return entry
        case _:
            raise TypeError(f"no move is known for {entry}")


def _tell(example: Example, facts: Sequence[Fact], actor: str, command: str, cause: bytes | None) -> None:
    drafts = [
        draft(fact, matches.redact(example.match.rules, fact, SPECTATOR), sha256(b"salt").digest()[:16])
        for fact in facts
    ]
    events = chain(
        example.head, drafts, stream=MATCH, actor=actor, command=f"c_{sha256(command.encode()).hexdigest()[:26]}",
        at_ms=BEGUN_AT_MS + 4_000 * len(example.commands), cause=cause,
    )  # fmt: skip
    for fact in facts:
        example.match = matches.evolve(example.match, fact)
    example.events += events
    example.head = events[-1].head
