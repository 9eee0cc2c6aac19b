"""The match's keys, from what the record reveals; and, where parts of it disagree, which of them is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, SeedRevealed
from services.contracts.events.match import MatchStarted
from services.engine.audit.facts import Told
from services.engine.audit.verdict import Ledger
from services.engine.rules.chance import MatchKeys, commitment_of, match_key, round_commitment

KEY: Final = re.compile(r"\A[0-9a-f]{64}\Z")
PLAYER_SEED: Final = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")


class UnknownKeyError(Exception):
    """The record reveals neither a seed to trust nor this round's key."""


class RevealedKeys(MatchKeys, frozen=True):
    """The keys of single rounds as the record reveals them, for a record whose seed is missing or wrong."""

    rounds: Mapping[int, bytes]

    def round_key(self, round: int) -> bytes:
        """Return the key of a round.

        Raises:
            UnknownKeyError: the record does not reveal it.
        """
        if round not in self.rounds:
            raise UnknownKeyError
        return self.rounds[round]


def find_keys(start: Told, told: Sequence[Told], end: tuple[int, int], ledger: Ledger) -> MatchKeys:
    """Return the keys to check chance with.

    The service's seed S has to open the commitment, and with the players' seeds has to give every round's key. One
    part that was exchanged breaks one of the two, and which of them tells the part: if neither holds it is S.

    Args:
        start: match-started.
        told: all facts of the record.
        end: the line and the version where a missing reveal belongs.
        ledger: takes the findings.
    """
    started = start.fact
    assert isinstance(started, MatchStarted)  # noqa: S101 - the caller has looked; this tells the type checker
    rounds = _revealed_rounds(told)
    reveal = next((each for each in told if isinstance(each.fact, SeedRevealed)), None)
    if reveal is None:
        ledger.add("chance", *end, "the service's seed is not revealed: chance cannot be checked to the end")
        return RevealedKeys(b"", b"", rounds)
    seed_hex = reveal.fact.seed if isinstance(reveal.fact, SeedRevealed) else ""
    if not KEY.match(seed_hex):
        ledger.add("chance", reveal.line, reveal.event.version, "the revealed seed is not 32 bytes in hex")
        return RevealedKeys(b"", b"", rounds)
    seed = bytes.fromhex(seed_hex)
    seats = [seat.seed for seat in started.seats]
    if not all(PLAYER_SEED.match(given) for given in seats) or not f"{started.match}{started.game}".isascii():
        ledger.add(
            "chance",
            start.line,
            start.event.version,
            "a seed, the match's id or the game holds what none may hold",
        )
        return RevealedKeys(seed, b"", rounds)

    keys = MatchKeys(seed, match_key(started.match, f"{started.game}@{started.rules_version}", seats, seed))
    opens = commitment_of(started.match, seed) == started.commitment
    fits = _fit(keys, told)
    if opens and fits is not False:
        return keys
    if fits:
        ledger.add(
            "chance",
            start.line,
            start.event.version,
            "the revealed seed does not open the commitment published here",
        )
        return keys
    if opens:
        ledger.add(
            "chance", start.line, start.event.version,
            "the players' seeds, game and rules named here do not give the rounds' keys that were used",
        )  # fmt: skip
    else:
        ledger.add(
            "chance",
            reveal.line,
            reveal.event.version,
            "the seed revealed here is not the one that was committed to for this match",
        )
    return RevealedKeys(seed, b"", rounds)


def _fit(keys: MatchKeys, told: Sequence[Told]) -> bool | None:
    """Say whether these keys agree with any commitment or reveal of the record; None when it has none."""
    answers = [
        round_commitment(keys.round_key(each.fact.round)) == each.fact.commitment
        if isinstance(each.fact, ChanceCommitted)
        else keys.round_key(each.fact.round).hex() == each.fact.key
        for each in told
        if (isinstance(each.fact, ChanceCommitted) and KEY.match(each.fact.commitment))
        or (isinstance(each.fact, ChanceRevealed) and KEY.match(each.fact.key))
    ]
    return any(answers) if answers else None


def _revealed_rounds(told: Sequence[Told]) -> dict[int, bytes]:
    """Return the keys that open what was committed to; one that opens nothing proves nothing against the draws."""
    committed = {
        each.fact.round: each.fact.commitment for each in told if isinstance(each.fact, ChanceCommitted)
    }
    keys = {
        each.fact.round: bytes.fromhex(each.fact.key)
        for each in told
        if isinstance(each.fact, ChanceRevealed) and KEY.match(each.fact.key)
    }
    return {number: key for number, key in keys.items() if committed.get(number) == round_commitment(key)}
