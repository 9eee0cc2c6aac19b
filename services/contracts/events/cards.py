"""Events of the card games.

Cards are codes (``TH``, ``BJ``); ``??`` stands for a card that the reader may not know, so that a reader always
sees how many there are. Hands and stock lie in order: the card held longest first, the next card to draw first.
"""

from __future__ import annotations

from typing import Literal

from services.contracts.events.base import Fact
from services.contracts.events.chance import ShuffleDraw

# Dealing, and the piles.


class Dealt(Fact, frozen=True, tag="dealt"):
    """The cards were shuffled and dealt; what the hands do not hold is the stock, in the order of the shuffle.

    Attributes:
        hands: per seat, the cards in the order in which they came.
    """

    draw: ShuffleDraw
    hands: tuple[tuple[str, ...], ...]


class TurnedUp(Fact, frozen=True, tag="turned-up"):
    """A card was taken out of the stock and laid face up: the pile begins. Where in the stock it lay is not told."""

    card: str


class PileTurned(Fact, frozen=True, tag="pile-turned"):
    """The pile, its top card apart, went under what was left of the stock; of ``cards`` the first is drawn first."""

    cards: tuple[str, ...]


class PileShuffled(Fact, frozen=True, tag="pile-shuffled"):
    """The pile, its top card apart, was shuffled and went under what was left of the stock (PT-4.1)."""

    draw: ShuffleDraw


# Turns.


class Played(Fact, frozen=True, tag="played"):
    """Cards were laid on the pile, the last of them on top.

    Attributes:
        direction: the direction of play that they turned to, or None where it stayed as it was (CP-8.3).
    """

    seat: int
    cards: tuple[str, ...]
    direction: Literal["clockwise", "counter-clockwise"] | None = None


class SuitCalled(Fact, frozen=True, tag="suit-called"):
    """An ace's player called the suit that the next card has to have."""

    seat: int
    suit: Literal["C", "D", "H", "S"]


class Drew(Fact, frozen=True, tag="drew"):
    """A player drew from the stock, fewer cards than asked for where there are no more."""

    seat: int
    cards: tuple[str, ...]


class Passed(Fact, frozen=True, tag="passed"):
    """A player ended the turn without laying a card."""

    seat: int


# Penalties.


class PenaltyStacked(Fact, frozen=True, tag="penalty-stacked"):
    """Penalty cards were laid: ``added`` is what they ask for, ``total`` what the next player now faces."""

    seat: int
    added: int
    total: int


class PenaltyTaken(Fact, frozen=True, tag="penalty-taken"):
    """A player took the open penalty and lost the turn; ``cards`` are fewer than ``total`` where there were no more."""

    seat: int
    total: int
    cards: tuple[str, ...]


class PenaltyCancelled(Fact, frozen=True, tag="penalty-cancelled"):
    """A seven made the open penalty void (CP-8.1)."""

    seat: int
    total: int


class SkipStacked(Fact, frozen=True, tag="skip-stacked"):
    """Fours were laid: ``added`` of them, and ``total`` turns that the next player is to sit out."""

    seat: int
    added: int
    total: int


class SatOut(Fact, frozen=True, tag="sat-out"):
    """A player sat out a turn.

    Attributes:
        turns_left: how many more of the player's turns will pass in the same way.
        accepted: true for the turn in which the player accepted it, false for a later one, where there is no choice.
    """

    seat: int
    turns_left: int
    accepted: bool


class Lapsed(Fact, frozen=True, tag="lapsed"):
    """An open penalty, or turns to sit out, came to nothing; the other of the two is 0.

    Attributes:
        seat: who faced it: the player who had laid it, to whom it came back, or one who was eliminated.
    """

    seat: int
    penalty: int
    turns: int


# The word.


class MacaoCalled(Fact, frozen=True, tag="macao-called"):
    """A player said "Macao!"."""

    seat: int


class MacaoCaught(Fact, frozen=True, tag="macao-caught"):
    """``by`` caught a player who had not said it; the player drew ``cards`` (CP-6.2)."""

    seat: int
    by: int
    cards: tuple[str, ...]


class MacaoFined(Fact, frozen=True, tag="macao-fined"):
    """A player had not said it before another moved, and drew ``cards`` (PT-5.2)."""

    seat: int
    cards: tuple[str, ...]


# The end of a deal.


class HandCounted(Fact, frozen=True, tag="hand-counted"):
    """The cards left in a hand were counted against their holder: ``points``, which make ``total`` with all before."""

    seat: int
    cards: tuple[str, ...]
    points: int
    total: int


class Stalled(Fact, frozen=True, tag="stalled"):
    """The deal stops without somebody going out: ``turns`` have passed and led nowhere."""

    turns: int
