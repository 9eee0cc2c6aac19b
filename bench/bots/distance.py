"""How far ``sharp`` is from the best play in the dice games, by the brute force of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from services.engine.bots.catalogue import BOTS
from services.engine.rules.games.dice_bank import DICE_BANK
from services.engine.rules.games.dice_race import DICE_RACE
from tests.bots import test_dice_bank_optimum as dice_bank
from tests.bots import test_dice_race_optimum as dice_race
from tests.bots.engine_optimum import Optimum, as_it_is, chips, first_place, without_count
from tests.rules.counting import openings


def distances() -> Iterator[tuple[str, int, float]]:
    """Yield for each dice game: what was played, how many decisions there are, and the most that one of them loses."""
    options = dice_race.options_of(2, chips_to_win=1, first=0)
    race = Optimum(DICE_RACE, list(openings(DICE_RACE, options, 2)), without_count, first_place)
    yield "dice-race, 2 seats, chance of the chip", len(race.moves), _most_lost(race, dice_race.seen)
    bank = Optimum(DICE_BANK, [dice_bank.after_stakes((1, 1))], as_it_is, chips)
    yield "dice-bank, 3 seats, chips of a round", len(bank.moves), _most_lost(bank, dice_bank.seen)


def _most_lost(optimum: Optimum, seen: Any) -> float:
    lost = 0.0
    for state in optimum.moves:
        situation = seen(state)
        choice = BOTS.bot(situation.game, "sharp").choose(situation, Random(0))
        worth = dict(optimum.of_moves(state))
        assert choice is not None
        lost = max(lost, max(worth.values()) - worth[choice])
    return lost
