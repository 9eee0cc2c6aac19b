"""Chance, checked against ``macao-fair/1``: each round's commitment and reveal, and every draw in between.

This knows nothing of the games. A draw is whatever an event holds under ``draw``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, DiceDraw, LotDraw, ShuffleDraw
from services.engine.audit.facts import Told
from services.engine.audit.keys import KEY, UnknownKeyError
from services.engine.audit.verdict import Ledger
from services.engine.rules.chance import MatchKeys, redraw, round_commitment

Draw = DiceDraw | LotDraw | ShuffleDraw


class OpenRound(Struct):
    """A round whose chance is committed to and not yet revealed."""

    number: int
    commitment: str
    draws: int = 0


def check_chance(told: Sequence[Told], keys: MatchKeys, end: tuple[int, int], ledger: Ledger) -> None:
    """Walk through the record and check every commitment, draw and reveal.

    Args:
        told: all facts of the record.
        keys: the match's keys.
        end: the line and the version where a missing reveal belongs.
        ledger: takes the findings.
    """
    walk = _Walk(keys, ledger)
    for each in told:
        problem = walk.step(each)
        if problem:
            ledger.add("chance", each.line, each.event.version, problem)
    if walk.open is not None:
        ledger.add("chance", *end, f"the key of round {walk.open.number} is not revealed")


class _Walk:
    """Goes from fact to fact, and says of each what is wrong with it."""

    def __init__(self, keys: MatchKeys, ledger: Ledger) -> None:
        self.open: OpenRound | None = None
        self._seen: set[int] = set()
        self._keys = keys
        self._ledger = ledger

    def step(self, each: Told) -> str | None:
        match each.fact:
            case ChanceCommitted() as committed:
                problem = self._committed(committed)
                self.open = OpenRound(committed.round, committed.commitment)
                self._seen.add(committed.round)
                return problem
            case ChanceRevealed() as revealed:
                problem = self._revealed(revealed)
                self.open = None
                return problem
            case fact:
                draw = getattr(fact, "draw", None)
                return self._drawn(draw) if isinstance(draw, Draw) else None

    def _committed(self, fact: ChanceCommitted) -> str | None:
        if self.open is not None:
            return f"round {self.open.number} is not revealed yet"
        if fact.round in self._seen:
            return f"round {fact.round} was committed to before"
        key = self._key_of(fact.round)
        if key is not None and round_commitment(key) != fact.commitment:
            return f"this is not the commitment to the key of round {fact.round}"
        return None

    def _revealed(self, fact: ChanceRevealed) -> str | None:
        if self.open is None or self.open.number != fact.round:
            return f"round {fact.round} was not committed to, or is revealed already"
        if not KEY.match(fact.key):
            return "the key is not 32 bytes in hex"
        if round_commitment(bytes.fromhex(fact.key)) != self.open.commitment:
            return f"this key does not open the commitment of round {fact.round}"
        key = self._key_of(fact.round)
        if key is not None and key.hex() != fact.key:
            return f"the seeds give another key for round {fact.round}"
        return None

    def _drawn(self, draw: Draw) -> str | None:
        if self.open is None or self.open.number != draw.round:
            return f"a draw of round {draw.round}, whose chance is not committed to"
        due, self.open.draws = self.open.draws, draw.op + 1
        if draw.op != due:
            return f"this is draw {due} of the round, and calls itself {draw.op}"
        if not _makes_sense(draw):
            return "a draw from nothing, or with another number of results than it asked for"
        key = self._key_of(draw.round)
        if key is None:
            return None
        again = redraw(key, draw)
        if again != draw:
            return f"chance gave {_result(again)}, and the record says {_result(draw)}"
        self._ledger.draws += 1
        return None

    def _key_of(self, number: int) -> bytes | None:
        try:
            return self._keys.round_key(number)
        except UnknownKeyError:
            return None


def _makes_sense(draw: Draw) -> bool:
    """Say whether a draw can be repeated; a made-up one must not keep us busy for hours."""
    match draw:
        case DiceDraw():
            return draw.count == len(draw.result) > 0
        case LotDraw():
            return len(draw.among) > 0
        case ShuffleDraw():
            return len(draw.cards) == len(draw.result)


def _result(draw: Draw) -> str:
    result = draw.result
    return str(result) if isinstance(result, int) else " ".join(str(item) for item in result)
