"""A match in memory, its events chained as the service chains them, so that its record can be checked like any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.match import MatchStarted, SeatTaken
from services.contracts.ids import ENTROPY_BYTES, MATCH, PLAYER, TABLE, make_id
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import NO_SEED, SEED_BYTES, MatchKeys, commitment_of
from services.engine.rules.kernel import SPECTATOR, AnyRules, Move, Refusal
from services.engine.rules.match import Match
from services.runtime.clock import Clock, Entropy

SALT_BYTES: Final = 16
LOBBY: Final = "lobby"
STOPPED: Final = "stopped"

_json: Final = msgspec.json.Encoder().encode


class Cause(Struct, frozen=True):
    """What a command asked for, as records hold it."""

    seat: int
    move: Any


class Table:
    """A match that is being played, with every event of it so far."""

    def __init__(self, match: Match, keys: MatchKeys, clock: Clock, entropy: Entropy) -> None:
        """Begin with no event; `sit_down` opens the match."""
        self.match = match
        self.events: list[Event] = []
        self.facts: list[Fact] = []
        self._keys = keys
        self._clock = clock
        self._entropy = entropy

    @property
    def rules(self) -> AnyRules:
        """The rules that the match is played under."""
        return self.match.rules

    def open(self) -> None:
        """Let the match begin: lots, the first round, the first deal."""
        self._append((self.match.started, *matches.open_match(self.match, self._keys)), LOBBY, None)

    def play(self, seat: int, move: Move) -> tuple[Fact, ...] | Refusal:
        """Carry a move out and return what followed, or why it cannot be."""
        facts = matches.decide(self.match, seat, move, self._keys)
        if not isinstance(facts, Refusal):
            self._append(facts, self.match.started.seats[seat].player, _json(Cause(seat, move)))
        return facts

    def stop(self, reason: str) -> None:
        """End a running match without a result; its chance is revealed all the same."""
        self._append(matches.void(self.match, reason, self._keys), STOPPED, None)

    def _append(self, facts: Sequence[Fact], actor: str, cause: bytes | None) -> None:
        drafts = [
            draft(fact, matches.redact(self.rules, fact, SPECTATOR), self._entropy(SALT_BYTES))
            for fact in facts
        ]
        head = self.events[-1].head if self.events else Head()
        self.events += chain(
            head,
            drafts,
            stream=self.match.started.match,
            actor=actor,
            command=f"c_{head.version + 1}",
            at_ms=self._clock.now_ms(),
            cause=cause,
        )
        for fact in facts:
            self.match = matches.evolve(self.match, fact)
            self.facts.append(fact)


def sit_down(
    rules: AnyRules, options: Struct, bots: Sequence[str | None], clock: Clock, entropy: Entropy
) -> Table:
    """Return a table whose match has begun.

    Args:
        rules: the game.
        options: how it is played, checked.
        bots: for each seat what moves there, None for a person.
        clock: tells the times of the events.
        entropy: all chance of the match comes from it, and so do the ids: they are part of the match's key.
    """
    born_at_ms = 0  # the time of day would make the same seed deal other cards
    match_id = make_id(MATCH, born_at_ms, entropy(ENTROPY_BYTES))
    seed = entropy(SEED_BYTES)
    started = MatchStarted(
        match=match_id,
        table=make_id(TABLE, born_at_ms, entropy(ENTROPY_BYTES)),
        game=rules.name,
        rules_version=rules.version,
        options=Raw(_json(options)),
        seats=tuple(
            SeatTaken(make_id(PLAYER, born_at_ms, entropy(ENTROPY_BYTES)), NO_SEED, bot) for bot in bots
        ),
        turn_seconds=None,
        rated=False,
        visibility="private",
        commitment=commitment_of(match_id, seed),
        commitment_number=0,
    )
    match = matches.begin(started, Catalogue([rules]))
    table = Table(match, matches.keys_of(match, seed), clock, entropy)
    table.open()
    return table
