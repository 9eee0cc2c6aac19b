"""Whole matches in memory, and their records: no database, no service."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from services.contracts.chain import event_hash, seal_of
from services.contracts.checkpoint import Receipt
from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine import record as record_module
from services.engine.record import ENDING, header_of, write_record
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import commitment_of
from services.engine.rules.kernel import SPECTATOR, Expire, Leave, Move, Refusal
from services.engine.rules.match import Match
from tests.support.matches import Recorded

MATCH = "m_01KB9YTEST0000000000000000"
TABLE = "t_01KB9YTEST0000000000000000"
SEED = bytes(range(32))
KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"the service's record key").digest())
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"somebody else's key").digest())
KEY_ID = "k_01KB9YTEST0000000000000000"
PUBLIC_KEYS = {KEY_ID: KEY.public_key().public_bytes_raw()}

Choose = Callable[[Match, random.Random], tuple[int, Move]]


@dataclass
class Table:
    """A match on its way, chained as the service chains it."""

    catalogue: Catalogue
    match: Match
    seed: bytes = SEED
    events: list[Event] = field(default_factory=list)
    at_ms: int = 1_750_000_000_000

    @property
    def keys(self):
        return matches.keys_of(self.match, self.seed)

    def move(self, seat: int, move: Move) -> None:
        facts = matches.decide(self.match, seat, move, self.keys)
        assert not isinstance(facts, Refusal), facts
        if isinstance(move, Expire):
            self.at_ms += (self.match.started.turn_seconds or 0) * 1000  # its player's time is up now
        actor = "clock" if isinstance(move, Expire) else self.match.started.seats[seat].player
        self.append(facts, actor, msgspec.json.encode({"seat": seat, "move": move}))

    def void(self, reason: str) -> None:
        self.append(matches.void(self.match, reason, self.keys), "operator", None)

    def append(self, facts: Sequence[Fact], actor: str, cause: bytes | None) -> None:
        number = len(self.events)
        drafts = [
            draft(
                fact,
                matches.redact(self.match.rules, fact, SPECTATOR),
                hashlib.sha256(b"%d" % (number + at)).digest()[:16],
            )
            for at, fact in enumerate(facts)
        ]
        head = self.events[-1].head if self.events else Head()
        command = f"c_{hashlib.sha256(b'%d' % number).hexdigest()[:26]}"
        self.events += chain(
            head,
            drafts,
            stream=self.match.started.match,
            actor=actor,
            command=command,
            at_ms=self.at_ms,
            cause=cause,
        )
        for fact in facts:
            self.match = matches.evolve(self.match, fact)
        self.at_ms += 1500


def sit_down(
    catalogue: Catalogue,
    game: str,
    options: Mapping[str, Any] | None = None,
    seats: int = 2,
    *,
    seed: bytes = SEED,
    turn_seconds: int | None = None,
) -> Table:
    rules = catalogue.game(game)
    assert rules is not None
    started = MatchStarted(
        match=MATCH,
        table=TABLE,
        game=rules.name,
        rules_version=rules.version,
        options=msgspec.Raw(msgspec.json.encode(msgspec.convert(options or {}, rules.options))),
        seats=tuple(
            SeatTaken(f"p_01KB9YTEST00000000000000{seat:02}", f"luck-{seat}" if seat % 2 else "-")
            for seat in range(seats)
        ),
        turn_seconds=turn_seconds,  # type: ignore[arg-type]
        rated=True,
        visibility="public",
        commitment=commitment_of(MATCH, seed),
        commitment_number=7,
    )
    table = Table(catalogue, matches.begin(started, catalogue), seed)
    table.append((started, *matches.open_match(table.match, table.keys)), "lobby", None)
    return table


def choose_any(match: Match, rng: random.Random) -> tuple[int, Move]:
    """A legal move; now and then somebody leaves or runs out of time."""
    waiting = matches.pending(match)
    assert waiting is not None
    if rng.random() < 0.01:
        return waiting.turn, Expire() if match.started.turn_seconds else Leave()
    move = rng.choice(matches.legal(match, waiting.turn))
    return waiting.turn, move  # type: ignore[return-value]


def play(table: Table, rng: random.Random, choose: Choose = choose_any) -> list[Event]:
    while not table.match.over:
        table.move(*choose(table.match, rng))
    return table.events


def chained(played: Recorded) -> list[Event]:
    """The events of a match that was played without a log."""
    started = played.match.started
    # The clock may have run out; then the table must have had one.
    clock = any(isinstance(command.move, Expire) for command in played.commands)
    started = replace(started, turn_seconds=10 if clock else None)
    table = Table(
        Catalogue([played.rules]), matches.begin(started, Catalogue([played.rules])), played.keys.seed
    )
    table.append((started, *played.opening[1:]), "lobby", None)
    for command in played.commands:
        table.move(command.seat, command.move)
    return table.events


def record(
    events: Sequence[Event],
    key: Ed25519PrivateKey = KEY,
    key_id: str = KEY_ID,
    receipt: Receipt | None = None,
) -> list[bytes]:
    """The record as the service writes it; a forger's may also lack the end."""
    header = header_of(events[0], key_id=key_id, public_key=key.public_key().public_bytes_raw())
    write = write_record if any(event.type == ENDING for event in events) else record_module._lines
    return list(write(header, events, lambda data: (key_id, key.sign(data)), receipt))


def rechained(events: Sequence[Event]) -> list[Event]:
    """The events renumbered, sealed and chained anew: a forger's work, without fault but for the content."""
    again: list[Event] = []
    head = Head()
    for event in events:
        seal = None if event.sealed is None or event.salt is None else seal_of(event.salt, event.sealed)
        version = head.version + 1
        digest = event_hash(
            head.hash, event.stream, version, event.type, event.schema, event.actor, event.command, event.at_ms,
            event.cause, event.body, seal,
        )  # fmt: skip
        again.append(replace(event, version=version, seal=seal, previous=head.hash, hash=digest))
        head = again[-1].head
    return again


def with_body(event: Event, **changes: Any) -> Event:
    """The event with fields of its body changed."""
    return replace(event, body=msgspec.json.encode(msgspec.json.decode(event.body) | changes))


def version_of(events: Sequence[Event], kind: str) -> int:
    return next(event.version for event in events if event.type == kind)
