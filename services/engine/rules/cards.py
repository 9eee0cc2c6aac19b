"""Cards as codes: rank and suit, ``TH`` is the ten of hearts; ``BJ`` and ``RJ`` are the jokers.

A code is what events store and clients send; two packs hold every code twice, and the two are alike.
``??`` stands for a card that the viewer may not know.
"""

from __future__ import annotations

from typing import Final, Literal

Card = str
Suit = Literal["C", "D", "H", "S"]
Colour = Literal["black", "red"]

RANKS: Final = "A23456789TJQK"
SUITS: Final = "CDHS"
BLACK_JOKER: Final = "BJ"
RED_JOKER: Final = "RJ"
JOKERS: Final = (BLACK_JOKER, RED_JOKER)
HIDDEN: Final = "??"

PACK: Final[tuple[Card, ...]] = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""A pack of 52, unshuffled."""


def rank_of(card: Card) -> str:
    """Return the rank of a card; jokers have none (empty)."""
    return "" if card in JOKERS else card[0]


def suit_of(card: Card) -> str:
    """Return the suit of a card; jokers have none (empty)."""
    return "" if card in JOKERS else card[1]


def colour_of(card: Card) -> Colour:
    """Return the colour of a card, jokers included."""
    return "red" if card == RED_JOKER or card[1] in "DH" else "black"
