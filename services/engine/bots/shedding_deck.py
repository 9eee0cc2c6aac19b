"""The cards of a shedding game as bits, so that a hand is a number and "what fits" is one ``&``.

A *kind* is a place in ``order``: the cards of a deck, each once, from the one that a player lays most gladly to the one
kept longest. The playouts take the lowest bit of what fits for that reason. A set of kinds is a number with a bit for
each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from services.engine.rules.cards import SUITS, Card, rank_of, suit_of

NO_SUIT: Final = -1
"""Suits are numbers here, their place in `SUITS`; this is where none is called."""


class Deck(Struct, frozen=True):
    """The cards of a game, and which goes on which.

    Attributes:
        order: every kind of card.
        kinds: the kind of each card.
        copies: how many there are of each kind.
        on_card: by the kind of the top card, what goes on it when nothing is open.
        on_suit: by suit, what goes on when it is called.
        in_chain: by the kind of the top card, what answers its penalty.
        of_suit: by suit, the kinds of it.
        mates: by kind, all kinds of its rank, itself included.
    """

    order: tuple[Card, ...]
    kinds: dict[Card, int]
    copies: int
    on_card: tuple[int, ...]
    on_suit: tuple[int, ...]
    in_chain: tuple[int, ...]
    of_suit: tuple[int, ...]
    mates: tuple[int, ...]

    @property
    def any(self) -> int:
        """Every kind."""
        return (1 << len(self.order)) - 1

    def mask(self, cards: Iterable[Card]) -> int:
        """Return the kinds of these cards."""
        found = 0
        for card in cards:
            found |= 1 << self.kinds[card]
        return found


def deck_of(
    order: Sequence[Card],
    copies: int,
    on_card: Mapping[Card, Collection[Card]],
    on_suit: Sequence[Collection[Card]],
    in_chain: Mapping[Card, Collection[Card]],
) -> Deck:
    """Return a deck, from the tables that the rules of the game use themselves."""
    kinds = {card: kind for kind, card in enumerate(order)}

    def mask(cards: Iterable[Card]) -> int:
        return sum(1 << kinds[card] for card in cards)

    def where(holds: Callable[[Card], bool]) -> int:
        return mask(card for card in order if holds(card))

    return Deck(
        order=tuple(order),
        kinds=kinds,
        copies=copies,
        on_card=tuple(mask(on_card[card]) for card in order),
        on_suit=tuple(mask(cards) for cards in on_suit),
        in_chain=tuple(mask(in_chain[card]) for card in order),
        of_suit=tuple(where(lambda card, suit=suit: suit_of(card) == suit) for suit in SUITS),  # type: ignore[misc]
        mates=tuple(_mates(card, where) for card in order),
    )


def _mates(card: Card, where: Callable[[Callable[[Card], bool]], int]) -> int:
    """Jokers have no rank, so they are nobody's mates (CP-5.3)."""
    return where(lambda other: other == card or (rank_of(card) != "" and rank_of(other) == rank_of(card)))


def fullest_suit(of_suit: Sequence[int], hand: int) -> int:
    """Return the suit that a hand has most of."""
    clubs, diamonds, hearts, spades = of_suit
    counts = (
        (hand & clubs).bit_count(),
        (hand & diamonds).bit_count(),
        (hand & hearts).bit_count(),
        (hand & spades).bit_count(),
    )
    return counts.index(max(counts))
