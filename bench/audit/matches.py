"""Whole matches by random movers, chained as the service chains them; everything follows from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from random import Random
from typing import Any, Final

import msgspec

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.chance import commitment_of
from services.engine.rules.kernel import SPECTATOR, Move, Refusal

MOVES_MAX: Final = 100_000
PAUSE_MS: Final = 1500
BEGIN_MS: Final = 1_750_000_000_000

_encode: Final = msgspec.json.Encoder().encode


def secret_of(number: int) -> bytes:
    """Return the service's seed of a match."""
    return sha256(f"bench seed {number}".encode()).digest()


def name_of(number: int) -> str:
    """Return the id of a match."""
    return f"m_{number:026d}"


def commands(game: str, number: int, seats: int = 3) -> Iterator[list[Event]]:
    """Play a match of a game, and yield the events of its start and of each move."""
    random, secret, name = Random(number), secret_of(number), name_of(number)
    rules = CATALOGUE.game(game)
    assert rules is not None, game
    started = MatchStarted(
        match=name, table=f"t_{number:026d}", game=rules.name, rules_version=rules.version,
        options=msgspec.Raw(_encode(rules.options())),
        seats=tuple(SeatTaken(f"p_{seat:026d}", f"luck-{seat}" if seat % 2 else "-") for seat in range(seats)),
        turn_seconds=30, rated=True, visibility="public",
        commitment=commitment_of(name, secret), commitment_number=number,
    )  # fmt: skip
    match = matches.begin(started, CATALOGUE)
    keys = matches.keys_of(match, secret)
    head, at_ms = Head(), BEGIN_MS + number

    def chained(facts: Sequence[Fact], actor: str, cause: bytes | None) -> list[Event]:
        nonlocal head, at_ms
        public = [matches.redact(rules, fact, SPECTATOR) for fact in facts]
        drafts = [
            draft(fact, shown, None if shown is fact else random.randbytes(16))
            for fact, shown in zip(facts, public, strict=True)
        ]
        command = f"c_{number:013d}{head.version:013d}"
        events = chain(head, drafts, stream=name, actor=actor, command=command, at_ms=at_ms, cause=cause)
        head, at_ms = events[-1].head, at_ms + PAUSE_MS
        return events

    facts: tuple[Fact, ...] = (started, *matches.open_match(match, keys))
    match = matches.fold(facts, CATALOGUE)
    yield chained(facts, "lobby", None)
    for _ in range(MOVES_MAX):
        waiting = matches.pending(match)
        if waiting is None:
            return
        seat = random.choice(waiting.may_act)
        move = _move(random.choice(matches.legal(match, seat)), random)
        advanced = matches.advance(match, seat, move, keys)
        assert not isinstance(advanced, Refusal), (move, advanced)
        facts, match = advanced
        yield chained(facts, started.seats[seat].player, _encode({"seat": seat, "move": move}))
    raise RuntimeError(f"a match of {game} does not end")


def played(game: str, number: int) -> list[Event]:
    """Return the events of a whole match."""
    return [event for command in commands(game, number) for event in command]


def _move(entry: Any, random: Random) -> Move:
    """Turn an entry of ``legal`` into a move: most are one, a stake stands as its range."""
    return Stake(random.randint(entry.min, entry.max)) if type(entry) is StakeRange else entry
