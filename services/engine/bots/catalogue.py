"""The only list of bots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.engine.bots import cards_bank, cards_places, cards_points, dice_bank, dice_race, fallback
from services.engine.bots.bot import Bot


class Bots:
    """Bots by game and level. There is one for every game and level: where none is written, random legal moves."""

    def __init__(self, bots: Sequence[Bot]) -> None:
        """Hold these bots, in this order."""
        self._bots = {(each.game, each.level): each for each in bots}

    def bot(self, game: str, level: str) -> Bot:
        """Return the bot that plays a game at a level."""
        return self._bots.get((game, level)) or Bot(game, level, fallback.choose)

    def written(self) -> tuple[Bot, ...]:
        """Return every bot that somebody has written."""
        return tuple(self._bots.values())


BOTS: Final = Bots(
    [*dice_race.BOTS, *dice_bank.BOTS, *cards_points.BOTS, *cards_bank.BOTS, *cards_places.BOTS]
)
