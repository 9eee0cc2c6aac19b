"""Events of the banking games: what passes between the players and the bank, and the cards of ``cards-bank``."""

from __future__ import annotations

from services.contracts.events.base import Fact
from services.contracts.events.chance import ShuffleDraw

# The bank, and what is staked against it. `chips.Staked` lays a stake, `chips.Paid` is what the bank pays.


class BankPassed(Fact, frozen=True, tag="bank-passed"):
    """The bank went to another player, before the next round."""

    seat: int


class RoundSkipped(Fact, frozen=True, tag="round-skipped"):
    """A round was not played, and counts all the same: ``bank``, whose turn to hold it was, is out (DB-4.1)."""

    round: int
    bank: int


class RoundSatOut(Fact, frozen=True, tag="round-sat-out"):
    """A player takes no part in the round: the bank could not pay on the smallest stake (DB-2.3, CB-2.2)."""

    seat: int


class StakeTaken(Fact, frozen=True, tag="stake-taken"):
    """The bank took a stake.

    Attributes:
        amount: what lay on the table.
        beyond: what the player paid on top of it, for a natural of the bank (CB-3.3).
    """

    seat: int
    amount: int
    beyond: int = 0


class StakeReturned(Fact, frozen=True, tag="stake-returned"):
    """A stake went back to its player: won, drawn, or the bank was eliminated."""

    seat: int
    amount: int


# The cards of cards-bank. ``??`` stands for a card that the reader may not know.


class PacksShuffled(Fact, frozen=True, tag="packs-shuffled"):
    """All packs were shuffled for a coup; the cards lie face down in the order of ``draw.result``, the next first."""

    draw: ShuffleDraw


class FirstCardDealt(Fact, frozen=True, tag="first-card-dealt"):
    """A player or the bank got the first card, face down."""

    seat: int
    card: str


class FirstCardShown(Fact, frozen=True, tag="first-card-shown"):
    """A first card was turned face up: a natural, after a bust, or to be compared."""

    seat: int
    card: str


class FirstCardKept(Fact, frozen=True, tag="first-card-kept"):
    """A player or the bank stood on the first card."""

    seat: int


class SecondCardDrawn(Fact, frozen=True, tag="second-card-drawn"):
    """A player or the bank got the one further card, face up."""

    seat: int
    card: str
