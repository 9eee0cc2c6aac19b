"""``macao-fair/1``: chance that was fixed before the players spoke, and that anybody can check afterwards.

The service commits to 32 secret bytes S; the players add seeds of their own; both together give the match's
key, and that one key a round. Each random operation reads words from a stream of its own, so a draw never
depends on how many words another one used up. Messages are ASCII, hashes lower-case hex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from hmac import digest
from typing import Final, TypeVar

from msgspec import Struct

from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw

SCHEME: Final = "macao-fair/1"
SEED_BYTES: Final = 32
NO_SEED: Final = "-"

T = TypeVar("T")


def commitment_of(match: str, seed: bytes) -> str:
    """Return the public commitment to the service's seed for one match (hex)."""
    return sha256(f"{SCHEME}:commit:{match}:{seed.hex()}".encode()).hexdigest()


def match_key(match: str, game_at_version: str, player_seeds: Sequence[str], seed: bytes) -> bytes:
    """Return the key that the service's seed and all players' seeds, in seat order, give together."""
    return _mac(seed, f"{SCHEME}:match:{match}:{game_at_version}:{','.join(player_seeds)}")


def round_key(key_of_match: bytes, round: int) -> bytes:
    """Return the key of one round; with it that round can be checked, and no other."""
    return _mac(key_of_match, f"{SCHEME}:round:{round}")


def round_commitment(key_of_round: bytes) -> str:
    """Return the public commitment to a round's key (hex)."""
    return sha256(f"{SCHEME}:roundcommit:{key_of_round.hex()}".encode()).hexdigest()


class Operation:
    """The stream of one random operation: ``uniform(n)`` as often as the operation needs."""

    def __init__(self, key_of_round: bytes, op: int) -> None:
        """Open the stream of operation ``op`` (from 0) of a round."""
        self._words = _words(key_of_round, op)

    def uniform(self, n: int) -> int:
        """Return a number from 0 to n-1, each exactly as likely as the next: words that would bend it are left out."""
        fair = (1 << 32) - (1 << 32) % n
        while True:
            word = next(self._words)
            if word < fair:
                return word % n

    def dice(self, count: int) -> tuple[int, ...]:
        """Throw ``count`` dice."""
        return tuple(1 + self.uniform(6) for _ in range(count))

    def shuffle(self, items: Sequence[T]) -> tuple[T, ...]:
        """Return the items in shuffled order (from the last down, each swapped with one at or before it)."""
        shuffled = list(items)
        for i in range(len(shuffled) - 1, 0, -1):
            j = self.uniform(i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return tuple(shuffled)


class MatchKeys(Struct, frozen=True):
    """The secret of one match: the service's seed, and the key that follows from it and the players' seeds."""

    seed: bytes
    key: bytes

    def round_key(self, round: int) -> bytes:
        """Return the key of a round."""
        return round_key(self.key, round)


class FairChance:
    """Chance for one decision: draws go on behind the operations that the match's record already has."""

    def __init__(self, keys: MatchKeys, round: int, op: int) -> None:
        """Go on with operation ``op`` of ``round``; every later round begins with its operation 0."""
        self._keys = keys
        self._round = round
        self._op = op

    def dice(self, round: int, count: int) -> DiceDraw:
        """Throw ``count`` dice."""
        op = self._next(round)
        return DiceDraw(round, op, count, self._operation(round, op).dice(count))

    def lot(self, round: int, among: tuple[int, ...]) -> LotDraw:
        """Draw one of ``among``."""
        op = self._next(round)
        return LotDraw(round, op, among, among[self._operation(round, op).uniform(len(among))])

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        """Shuffle ``cards``."""
        op = self._next(round)
        return ShuffleDraw(round, op, cards, self._operation(round, op).shuffle(cards))

    def _next(self, round: int) -> int:
        if round != self._round:
            if round < self._round:
                raise ValueError(f"round {round} is over: chance is at round {self._round}")
            self._round, self._op = round, 0
        op = self._op
        self._op += 1
        return op

    def _operation(self, round: int, op: int) -> Operation:
        return Operation(self._keys.round_key(round), op)


def redraw(key_of_round: bytes, draw: DiceDraw | LotDraw | ShuffleDraw) -> DiceDraw | LotDraw | ShuffleDraw:
    """Return what a recorded operation should have given, from the round's key: the audit's side of chance."""
    operation = Operation(key_of_round, draw.op)
    match draw:
        case DiceDraw():
            return DiceDraw(draw.round, draw.op, draw.count, operation.dice(draw.count))
        case LotDraw():
            return LotDraw(draw.round, draw.op, draw.among, draw.among[operation.uniform(len(draw.among))])
        case ShuffleDraw():
            return ShuffleDraw(draw.round, draw.op, draw.cards, operation.shuffle(draw.cards))


def _mac(key: bytes, message: str) -> bytes:
    return digest(key, message.encode("ascii"), "sha256")


def _words(key_of_round: bytes, op: int) -> Iterator[int]:
    block = 0
    while True:
        data = _mac(key_of_round, f"{SCHEME}:op:{op}:{block}")
        for at in range(0, len(data), 4):
            yield int.from_bytes(data[at : at + 4], "big")
        block += 1
