"""What is counted of each seat while a match is played. Pure: an event goes in, what it adds to whose figure comes out.

A tally is one row of numbers: for each seat, in order, one number for each of ``FIGURES``.
"""

from __future__ import annotations

from typing import Final

from services.contracts.events.bank import BankPassed, StakeReturned, StakeTaken
from services.contracts.events.base import Fact
from services.contracts.events.cards import (
    HandCounted,
    MacaoCalled,
    MacaoCaught,
    MacaoFined,
    PenaltyStacked,
    PenaltyTaken,
)
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted
from services.contracts.events.match import LotDrawn

FIGURES: Final = ("busts", "calls", "catches", "caught", "stacked", "penalty_cards", "chips", "points")
"""Of one seat, in the order in which they stand in a tally.

- ``busts``: rolls beyond the target;
- ``calls``: times that "Macao!" was said; ``catches``: others caught without it; ``caught``: times caught or fined;
- ``stacked``: plays that opened or raised a penalty; ``penalty_cards``: cards taken for one;
- ``chips``: won less lost; ``points``: counted against the player for cards left in the hand.
"""

BUSTS, CALLS, CATCHES, CAUGHT, STACKED, PENALTY_CARDS, CHIPS, POINTS = range(len(FIGURES))

TYPES: Final = frozenset({
    "busted", "macao-called", "macao-caught", "macao-fined", "penalty-stacked", "penalty-taken", "hand-counted",
    "staked", "paid", "stake-taken", "stake-returned", "lot-drawn", "bank-passed",
})  # fmt: skip

NOBODY: Final = -1
"""The bank, as long as there is none."""

_ONCE: Final[dict[type[Fact], int]] = {
    Busted: BUSTS,
    MacaoCalled: CALLS,
    MacaoFined: CAUGHT,
    PenaltyStacked: STACKED,
}

Added = tuple[int, int, int]
"""Seat, figure, by how much."""


def bank_after(bank: int, fact: Fact) -> int:
    """Return the seat that holds the bank after an event."""
    match fact:
        case LotDrawn(purpose="bank") | BankPassed():
            return fact.seat
        case _:
            return bank


def added(fact: Fact, bank: int) -> tuple[Added, ...]:
    """Return what an event adds to the figures; ``bank`` is the seat that pays what is paid by the bank."""
    match fact:
        case Busted() | MacaoCalled() | MacaoFined() | PenaltyStacked():
            return ((fact.seat, _ONCE[type(fact)], 1),)
        case MacaoCaught():
            return (fact.by, CATCHES, 1), (fact.seat, CAUGHT, 1)
        case PenaltyTaken():
            return ((fact.seat, PENALTY_CARDS, len(fact.cards)),)
        case HandCounted():
            return ((fact.seat, POINTS, fact.points),)
        case Staked():
            return ((fact.seat, CHIPS, -fact.amount),)
        case StakeReturned():
            return ((fact.seat, CHIPS, fact.amount),)
        case Paid(source="bank"):
            return (fact.seat, CHIPS, fact.amount), (bank, CHIPS, -fact.amount)
        case Paid():
            return ((fact.seat, CHIPS, fact.amount),)
        case StakeTaken():
            return (fact.seat, CHIPS, -fact.beyond), (bank, CHIPS, fact.amount + fact.beyond)
        case _:
            return ()


def add(tally: tuple[int, ...], additions: tuple[Added, ...]) -> tuple[int, ...]:
    """Return a tally with additions; what goes to no seat is dropped."""
    numbers = list(tally)
    for seat, figure, by in additions:
        at = seat * len(FIGURES) + figure
        if 0 <= at < len(numbers):
            numbers[at] += by
    return tuple(numbers)
