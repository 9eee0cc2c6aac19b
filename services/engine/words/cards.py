"""Sentences for what happens with cards."""

from __future__ import annotations

from typing import assert_never

from services.contracts.events import bank, cards
from services.engine.words.naming import SUIT_NAMES, Namer, card_in_words, cards_in_words, count, of_several

Banking = (
    bank.PacksShuffled | bank.FirstCardDealt | bank.FirstCardShown | bank.FirstCardKept | bank.SecondCardDrawn
)
Deal = (
    cards.Dealt | cards.TurnedUp | cards.PileTurned | cards.PileShuffled | cards.Stalled | cards.HandCounted
)
Turn = cards.Played | cards.SuitCalled | cards.Drew | cards.Passed
Penalty = (
    cards.PenaltyStacked | cards.PenaltyTaken | cards.PenaltyCancelled | cards.SkipStacked | cards.SatOut
    | cards.Lapsed
)  # fmt: skip
Call = cards.MacaoCalled | cards.MacaoCaught | cards.MacaoFined


def with_cards(fact: Banking | Deal | Turn | Penalty | Call, name: Namer) -> str:
    """Return what happened with cards as a sentence, without the full stop."""
    if isinstance(fact, Banking):
        return _banking(fact, name)
    if isinstance(fact, Deal):
        return _deal(fact, name)
    if isinstance(fact, Turn):
        return _turn(fact, name)
    if isinstance(fact, Penalty):
        return _penalty(fact, name)
    return _call(fact, name)


def _banking(fact: Banking, name: Namer) -> str:
    match fact:
        case bank.PacksShuffled():
            return f"{count(len(fact.draw.result), 'card')} are shuffled"
        case bank.FirstCardDealt():
            return f"{name(fact.seat)} is dealt {of_several((fact.card,))}"
        case bank.FirstCardShown():
            return f"{name(fact.seat)} shows {card_in_words(fact.card)}"
        case bank.FirstCardKept():
            return f"{name(fact.seat)} stands on the first card"
        case bank.SecondCardDrawn():
            return f"{name(fact.seat)} gets {card_in_words(fact.card)}"
        case _:
            assert_never(fact)


def _deal(fact: Deal, name: Namer) -> str:
    match fact:
        case cards.Dealt():
            hands = ", ".join(
                f"{name(seat)} has {of_several(hand)}" for seat, hand in enumerate(fact.hands) if hand
            )
            return f"Cards are dealt: {hands}"
        case cards.TurnedUp():
            return f"{card_in_words(fact.card)} is turned up"
        case cards.PileTurned():
            return f"The pile is turned over: {count(len(fact.cards), 'card')} to draw from again"
        case cards.PileShuffled():
            return f"The pile is shuffled: {count(len(fact.draw.result), 'card')} to draw from again"
        case cards.HandCounted():
            points = f"{count(fact.points, 'point')}, {fact.total} in all"
            return f"{name(fact.seat)} is left with {of_several(fact.cards)}: {points}"
        case cards.Stalled():
            return f"The deal stops: {count(fact.turns, 'turn')} have led nowhere"
        case _:
            assert_never(fact)


def _turn(fact: Turn, name: Namer) -> str:
    match fact:
        case cards.Played():
            turned = f"; play goes {fact.direction} now" if fact.direction else ""
            return f"{name(fact.seat)} plays {cards_in_words(fact.cards)}{turned}"
        case cards.SuitCalled():
            return f"{name(fact.seat)} calls {SUIT_NAMES[fact.suit]}"
        case cards.Drew():
            return f"{name(fact.seat)} draws {of_several(fact.cards)}"
        case cards.Passed():
            return f"{name(fact.seat)} passes"
        case _:
            assert_never(fact)


def _penalty(fact: Penalty, name: Namer) -> str:
    match fact:
        case cards.PenaltyStacked():
            return f"{name(fact.seat)} adds {fact.added} to the penalty: {count(fact.total, 'card')} to draw"
        case cards.PenaltyTaken():
            return f"{name(fact.seat)} takes the penalty of {fact.total} and draws {of_several(fact.cards)}"
        case cards.PenaltyCancelled():
            return f"{name(fact.seat)} makes the penalty of {count(fact.total, 'card')} void"
        case cards.SkipStacked():
            return f"{name(fact.seat)} makes the next player sit out {count(fact.total, 'turn')}"
        case cards.SatOut():
            left = f", and {fact.turns_left} more" if fact.turns_left else ""
            return f"{name(fact.seat)} sits out a turn{left}"
        case cards.Lapsed():
            what = (
                f"penalty of {count(fact.penalty, 'card')}"
                if fact.penalty
                else count(fact.turns, "turn") + " to sit out"
            )
            return f"The {what} before {name(fact.seat)} {'comes' if fact.penalty else 'come'} to nothing"
        case _:
            assert_never(fact)


def _call(fact: Call, name: Namer) -> str:
    match fact:
        case cards.MacaoCalled():
            return f'{name(fact.seat)} calls "Macao!"'
        case cards.MacaoCaught():
            return f"{name(fact.by)} catches {name(fact.seat)}, who had not called and draws {of_several(fact.cards)}"
        case cards.MacaoFined():
            return f"{name(fact.seat)} had not called, and draws {of_several(fact.cards)}"
        case _:
            assert_never(fact)
