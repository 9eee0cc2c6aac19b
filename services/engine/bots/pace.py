"""How long bots wait, so that people can follow, and have time to call (G15)."""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec import Struct

from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Catch

CATCH_SECONDS: Final = 3.0
"""The shortest pause before a bot catches somebody."""


class Pace(Struct, frozen=True):
    """The pace of bots.

    Attributes:
        seconds: the usual pause before a move; 0 for no pause at all, also not before a catch, where nobody watches.
    """

    seconds: float

    def pause_seconds(self, move: Move, chance: Random) -> float:
        """Return how long a bot waits before this move, a little more or less each time."""
        if not self.seconds:
            return 0.0
        usual = self.seconds * chance.uniform(0.6, 1.4)
        return CATCH_SECONDS + usual if isinstance(move, Catch) else usual
