"""Exact odds over the cards of cards-bank that one does not see.

Cards are known by what they count, 0 to 9. Unseen are the stock and the first cards that lie face down. Of such a first
card something is known: it is no natural, or it would lie open (CB-3.2), and its holder has asked or stood with it.
That is a range of counts. The ranges here never overlap in part, one lies in the other or beside it, and so the ways in
which the face-down cards can be chosen multiply out: smallest range first, each has what is in it less those already
chosen there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from services.engine.rules.cards import PACK, Card, rank_of
from services.engine.rules.games.cards_bank import AIM, COUNT

COUNTS: Final = range(AIM + 1)
IN_A_PACK: Final = Counter(COUNT[rank_of(card)] for card in PACK)

Range = tuple[int, int]
"""The lowest and the highest count that a face-down card can have."""

HIGHEST: Final = 6
"""The highest first card that is no natural."""
ANY: Final[Range] = (0, HIGHEST)
"""The range of a face-down card of which nothing more is known."""


def count_of(card: Card) -> int:
    """Return what a card counts (CB-1.2)."""
    return COUNT[rank_of(card)]


class Unseen:
    """The cards that somebody does not see, and what is known of those that lie face down."""

    def __init__(self, cards: Iterable[int], face_down: Iterable[Range]) -> None:
        """Take the number of unseen cards by count, and the ranges of the face-down ones among them."""
        self._cards = tuple(cards)
        self._ranges = self._measured(face_down)
        if not self._product(()):
            # Somebody has not played as people are taken to; what they did says nothing then.
            self._ranges = self._measured([ANY] * sum(each.number for each in self._ranges))
        self._inside = tuple(tuple(int(each.holds(count)) for each in self._ranges) for count in COUNTS)
        self._ways: dict[tuple[int, ...], float] = {}

    def weight(self, *drawn: int) -> float:
        """Return in how many ways these cards come, in this order, and the face-down ones are what they can be."""
        weight = 1.0
        for at, count in enumerate(drawn):
            weight *= self._cards[count] - drawn[:at].count(count)
            if weight <= 0:
                return 0.0
        if not self._ranges:
            return weight
        gone = tuple(map(sum, zip(*(self._inside[count] for count in drawn), strict=True)))
        ways = self._ways.get(gone)
        if ways is None:
            ways = self._ways[gone] = self._product(gone)
        return weight * ways

    def _measured(self, face_down: Iterable[Range]) -> list[_FaceDown]:
        numbers = Counter(face_down)
        return [
            _FaceDown(
                low,
                high,
                number,
                cards=sum(self._cards[low : high + 1]),
                chosen=sum(
                    n for (a, b), n in numbers.items() if (a, b) != (low, high) and low <= a and b <= high
                ),
            )
            for (low, high), number in numbers.items()
        ]

    def _product(self, gone: tuple[int, ...]) -> float:
        """Return in how many ways the face-down cards can be chosen, when so many of each range are gone."""
        ways = 1.0
        for each, taken in zip(self._ranges, gone or (0,) * len(self._ranges), strict=True):
            for chosen in range(each.number):
                ways *= max(0, each.cards - taken - each.chosen - chosen)
        return ways


class _FaceDown(Struct, frozen=True):
    """Cards of one range that lie face down.

    Attributes:
        number: how many there are.
        cards: how many unseen cards are in the range.
        chosen: how many face-down cards have a range that lies inside this one.
    """

    low: int
    high: int
    number: int
    cards: int
    chosen: int

    def holds(self, count: int) -> bool:
        return self.low <= count <= self.high
