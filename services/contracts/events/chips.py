"""Events that move chips."""

from __future__ import annotations

from typing import Literal

from services.contracts.events.base import Fact


class Staked(Fact, frozen=True, tag="staked"):
    """A stake leaves a player's chips for the table: before the dice or cards, or for a bust (DR-4.4)."""

    seat: int
    amount: int
    reason: Literal["stake", "danger"] = "stake"


class Paid(Fact, frozen=True, tag="paid"):
    """Chips come to a player.

    ``source`` is ``pot``, ``supply`` (the chip for a round won), ``remainder`` (what of the pot did not divide), or
    ``bank`` (the bank paid).
    """

    seat: int
    amount: int
    source: Literal["pot", "supply", "remainder", "bank"]
