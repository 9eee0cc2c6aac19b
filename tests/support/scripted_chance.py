"""Chance for tests: outcomes that the test chose, in the order in which the rules may ask for them."""

from __future__ import annotations

from collections.abc import Iterable

from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw

Outcome = tuple[str, tuple[int, ...] | tuple[str, ...] | int]
"""``("dice", (6, 1))``, ``("lot", 2)`` or ``("shuffle", ("TH", "AS"))``."""


class ScriptError(AssertionError):
    """The rules asked for something else than the script has, or for less or more of it."""


class ScriptedChance:
    """Gives out the scripted outcomes one after the other; `assert_used` finds leftovers."""

    def __init__(self, outcomes: Iterable[Outcome] = ()) -> None:
        self._outcomes = list(outcomes)
        self._round = -1
        self._op = 0

    def give(self, *outcomes: Outcome) -> None:
        """Add outcomes at the end of the script."""
        self._outcomes += outcomes

    def assert_used(self) -> None:
        """Raise when the rules drew less than the script has, and forget the rest."""
        left, self._outcomes = self._outcomes, []
        if left:
            raise ScriptError(f"not drawn: {left}")

    def dice(self, round: int, count: int) -> DiceDraw:
        result = self._next("dice", f"{count} dice")
        if not isinstance(result, tuple) or len(result) != count:
            raise ScriptError(f"the rules throw {count} dice, the script has {result}")
        return DiceDraw(round, self._number(round), count, tuple(int(face) for face in result))

    def lot(self, round: int, among: tuple[int, ...]) -> LotDraw:
        result = self._next("lot", f"a lot among {among}")
        if not isinstance(result, int) or result not in among:
            raise ScriptError(f"the rules draw among {among}, the script has {result}")
        return LotDraw(round, self._number(round), among, result)

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        result = self._next("shuffle", f"{len(cards)} cards shuffled")
        if not isinstance(result, tuple) or sorted(map(str, result)) != sorted(cards):
            raise ScriptError(f"the rules shuffle {sorted(cards)}, the script has {result}")
        return ShuffleDraw(round, self._number(round), cards, tuple(map(str, result)))

    def _next(self, kind: str, wanted: str) -> object:
        if not self._outcomes:
            raise ScriptError(f"the rules want {wanted}, and the script is at its end")
        given, result = self._outcomes.pop(0)
        if given != kind:
            raise ScriptError(f"the rules want {wanted}, the script has {given} {result}")
        return result

    def _number(self, round: int) -> int:
        if round != self._round:
            self._round, self._op = round, 0
        self._op += 1
        return self._op - 1
