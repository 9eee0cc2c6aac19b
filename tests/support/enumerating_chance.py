"""Chance that takes every outcome in turn, so that positions can be counted exhaustively.

A decision is made again and again with a scripted prefix of outcomes. Where the script ends, the rules' next
wish is noted and every answer to it is tried. Nothing about the rules has to be known, and nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import TypeVar

from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw

T = TypeVar("T")


class _Branch(Exception):  # noqa: N818 - it says where the road forks, nothing failed
    def __init__(self, answers: list[object]) -> None:
        super().__init__(f"{len(answers)} answers")
        self.answers = answers


class _Prefix:
    """Gives the answers of a prefix, and forks behind it."""

    def __init__(self, answers: tuple[object, ...]) -> None:
        self._answers = list(answers)

    def dice(self, round: int, count: int) -> DiceDraw:
        faces = self._answer(lambda: list(product(range(1, 7), repeat=count)))
        return DiceDraw(round, 0, count, faces)  # type: ignore[arg-type]

    def lot(self, round: int, among: tuple[int, ...]) -> LotDraw:
        return LotDraw(round, 0, among, self._answer(lambda: list(among)))  # type: ignore[arg-type]

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        # Equal cards make equal orders; each order is taken once.
        order = self._answer(lambda: list(dict.fromkeys(permutations(cards))))
        return ShuffleDraw(round, 0, cards, order)  # type: ignore[arg-type]

    def _answer(self, all_answers: Callable[[], list[object]]) -> object:
        if self._answers:
            return self._answers.pop(0)
        raise _Branch(all_answers())


def every_outcome(decide: Callable[[_Prefix], T]) -> Iterator[T]:
    """Yield what ``decide`` gives for every sequence of chance that it can meet, in a fixed order."""
    open_prefixes: list[tuple[object, ...]] = [()]
    while open_prefixes:
        prefix = open_prefixes.pop()
        try:
            yield decide(_Prefix(prefix))
        except _Branch as fork:
            open_prefixes += [(*prefix, answer) for answer in reversed(fork.answers)]
