"""Movers that do whatever is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from msgspec import Struct

from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.kernel import Move

RANDOM: Final = "random"


def move_at_random(legal: Sequence[Struct], whims: Random) -> Move:
    """Return one of the legal moves, each as likely as the next; of a range, one of its stakes.

    Raises:
        TypeError: an entry is neither a move nor a range.
    """
    entry = whims.choice(legal)
    if isinstance(entry, StakeRange):
        return Stake(whims.randint(entry.min, entry.max))
    if not isinstance(entry, Move):
        raise TypeError(f"{entry!r} cannot be played")
    return entry
