"""What things are called: seats, cards, counts, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

Namer = Callable[[int], str]
"""Gives a seat the name that sentences call it by."""

UNKNOWN: Final = "??"
SUITS: Final = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}
SUIT_NAMES: Final = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades"}
JOKERS: Final = {"BJ": "the black joker", "RJ": "the red joker"}


def seat_name(seat: int) -> str:
    """Call a seat by its number."""
    return f"Seat {seat}"


def places_in_words(places: Sequence[int], name: Namer = seat_name) -> str:
    """Return the places of all seats, best first; who shares a place stands together."""
    by_place = {
        place: [seat for seat, at in enumerate(places) if at == place] for place in sorted(set(places))
    }
    return ", ".join(f"{place}. {listed(map(name, seats))}" for place, seats in by_place.items())


def card_in_words(card: str) -> str:
    """Return a card's code as people write it: ``TH`` is 10♥."""
    if card in JOKERS:
        return JOKERS[card]
    rank, suit = card[:-1], SUITS.get(card[-1:], "")
    return f"{'10' if rank == 'T' else rank}{suit}" if suit else card


def cards_in_words(cards: Sequence[str]) -> str:
    """Return cards one by one; one that the reader may not know is a card."""
    return (
        listed("a card" if card == UNKNOWN else card_in_words(card) for card in cards) if cards else "no card"
    )


def of_several(cards: Sequence[str]) -> str:
    """Return how many cards, and which where the reader may know them: ``2 cards (7♥ and 10♠)``."""
    if not cards:
        return "no card"
    which = "" if UNKNOWN in cards else f" ({cards_in_words(cards)})"
    return f"{count(len(cards), 'card')}{which}"


def count(number: int, thing: str) -> str:
    """Return a number of things."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
