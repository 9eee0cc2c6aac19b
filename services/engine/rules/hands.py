"""Cards in hands and piles, also where one may not know which they are.

A hand is a tuple, the card held longest first. Whoever folds what one seat is shown has ``??`` in place of every
card that the seat may not know; these functions bear that, so that the same fold serves everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.engine.rules.cards import HIDDEN, Card

Hand = tuple[Card, ...]


def without(held: Hand, card: Card) -> Hand:
    """Take one card out, of two alike the one held longer; where the cards are not known, one of those."""
    try:
        at = held.index(card)
    except ValueError:
        at = held.index(HIDDEN)
    return held[:at] + held[at + 1 :]


def without_all(held: Hand, cards: Hand) -> Hand:
    """Take several cards out."""
    left = list(held)
    for card in cards:
        try:
            left.remove(card)
        except ValueError:
            left.remove(HIDDEN)
    return tuple(left)


def covered(cards: Sequence[Card]) -> Hand:
    """Turn cards face down: nothing is left of them but their number."""
    return (HIDDEN,) * len(cards)


def dealt_one_at_a_time(shuffled: Hand, order: Sequence[int], each: int, seats: int) -> tuple[Hand, ...]:
    """Return the hands, seat by seat, when ``each`` card goes round in ``order``; who is not in the order gets none."""
    hands: list[Hand] = [()] * seats
    for at, seat in enumerate(order):
        hands[seat] = shuffled[at : each * len(order) : len(order)]
    return tuple(hands)
