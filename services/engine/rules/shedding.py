"""What the two shedding games share: the moves, the worth of cards left in hand, and what stays hidden."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from services.contracts.events.cards import (
    Dealt,
    Drew,
    HandCounted,
    MacaoCaught,
    MacaoFined,
    PenaltyTaken,
    PileShuffled,
)
from services.contracts.events.chance import ShuffleDraw
from services.engine.rules.cards import JOKERS, PACK, Card, Suit, rank_of
from services.engine.rules.hands import Hand, covered
from services.engine.rules.kernel import AUDITOR, Move, Viewer

HAND_SIZE: Final = 5


# Moves


CardCode = Annotated[str, Meta(pattern="^([A23456789TJQK][CDHS]|BJ|RJ)$")]


class Play(Move, frozen=True, tag="play"):
    """Lay cards, the last of them on top.

    Attributes:
        suit: the suit called with an ace.
        macao: whether "Macao!" is said with the play.
    """

    cards: Annotated[tuple[CardCode, ...], Meta(min_length=1)]
    suit: Suit | None = None
    macao: bool = False


class Draw(Move, frozen=True, tag="draw"):
    """Draw one card."""


class Take(Move, frozen=True, tag="take"):
    """Draw the open penalty."""


class Pass(Move, frozen=True, tag="pass"):
    """End the turn without laying a card."""


class SitOut(Move, frozen=True, tag="sit-out"):
    """Accept sitting out."""


class Call(Move, frozen=True, tag="call"):
    """Say "Macao!"."""

    ANY_VERSION = True


class Catch(Move, frozen=True, tag="catch"):
    """Catch a player who has not said it."""

    seat: Annotated[int, Meta(ge=0)]

    ANY_VERSION = True


# Cards left in hand (PT-6.2, CP-8.4)


def _worth(card: Card) -> int:
    if card in JOKERS or card == "KH":
        return 50
    return {"A": 50, "9": 40, "3": 30, "2": 20, "T": 10, "J": 10, "Q": 10, "K": 10}.get(rank_of(card), 5)


POINTS: Final = {card: _worth(card) for card in (*PACK, *JOKERS)}


def points_of(hand: Hand) -> int:
    """Return what the cards left in a hand count against their holder."""
    return sum(POINTS[card] for card in hand)


# What stays hidden (G5)


HidingFact = Dealt | Drew | PenaltyTaken | MacaoCaught | MacaoFined | HandCounted | PileShuffled
"""Facts with cards that only one seat may know, or nobody."""

F = TypeVar("F", bound=HidingFact)


def covered_for(fact: F, viewer: Viewer) -> F:
    """Return a fact with every card face down that the viewer may not know: a seat knows its own, nobody the stock."""
    if viewer == AUDITOR:
        return fact
    match fact:
        case Dealt():
            hands = tuple(hand if seat == viewer else covered(hand) for seat, hand in enumerate(fact.hands))
            return replace(fact, draw=_covered_draw(fact.draw), hands=hands)
        case PileShuffled():
            return replace(fact, draw=_covered_draw(fact.draw))
        case _:
            return fact if fact.seat == viewer else replace(fact, cards=covered(fact.cards))


def _covered_draw(draw: ShuffleDraw) -> ShuffleDraw:
    return replace(draw, result=covered(draw.result))
