"""The best play in a round of dice-race with dangerous stakes: exact, by dynamic programming.

What is optimised: the expected chips from this round, that is what of the pot will be won less a second stake, when all
who follow play by the same measure. A bust costs the player and feeds the pot (DR-4.4), so it can be right to stand
below the best score. What the pot is worth after the last turn is as in `race_contest`: a tie is worth its place in
the playoff, or its share; a round that everybody loses is worth the whole pot times the chance of winning the next
round, played without danger, from the player's place in it. (Whole chips that do not divide are divided all the same.)
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Final

from services.engine.bots.race_contest import EQUAL, Contest, Values, contest
from services.engine.bots.race_die import Dice

POSITIONS_MAX: Final = 200_000
"""How many positions are kept before all are forgotten."""

Costs = tuple[int, ...]
"""What a bust costs each of those still to act, in turn."""


class DangerousRound:
    """Rounds with dangerous stakes among ``size`` players. Playoffs cost nothing, and are as in any contest."""

    def __init__(self, dice: Dice, plain: Contest, size: int, *, instant_win: bool) -> None:
        """Nothing is worked out before it is asked for."""
        self._dice = dice
        self._plain = plain
        self._size = size
        self._wins_at = dice.target if instant_win else 0
        self._turns: dict[tuple[Costs, int, int, int], tuple[Values, Values]] = {}
        self._tied: dict[tuple[Costs, int, int, int], Values] = {}

    def choices(self, costs: Costs, pot: int, best: int, tied: int, total: int) -> tuple[float, float]:
        """Return what standing and rolling are worth, in chips, to the player on turn.

        Args:
            costs: the first is that of the player on turn.
            pot: what lies in the middle now.
            best: the best score so far, 0 if all before have bust.
            tied: how many have it.
            total: what the player has.
        """
        unit = gcd(pot, *costs) or 1
        if len(self._turns) > POSITIONS_MAX:
            self._turns.clear()
            self._tied.clear()
        stand, roll = self._turn(tuple(cost // unit for cost in costs), pot // unit, best, tied)
        return stand[total] * unit, roll[total] * unit

    def _turn(self, costs: Costs, pot: int, best: int, tied: int) -> tuple[Values, Values]:
        """Return by total what standing and rolling are worth to the player on turn."""
        found = self._turns.get((costs, pot, best, tied))
        if found is None:
            found = self._turns[costs, pot, best, tied] = self._work_out(costs, pot, best, tied)
        return found

    def _work_out(self, costs: Costs, pot: int, best: int, tied: int) -> tuple[Values, Values]:
        target = self._dice.target
        cost, others = costs[0], costs[1:]
        if_bust = -cost + (0.0 if best else self._if_nobody(others, pot + cost, self._size - len(costs)))
        stand = [0.0] * (target + 1)
        roll = [0.0] * (target + 1)
        for total in range(target, -1, -1):
            if total and total == self._wins_at:
                stand[total] = float(pot)
            elif total > best:
                stand[total] = self._of_tied(others, pot, total, 1)[0]
            elif total == best and best:
                stand[total] = self._of_tied(others, pot, best, tied + 1)[-1]
            roll[total] = sum(
                probability * (max(stand[after], roll[after]) if after else if_bust)
                for after, probability in self._dice.steps[total]
            )
        return tuple(stand), tuple(roll)

    def _of_tied(self, costs: Costs, pot: int, best: int, tied: int) -> Values:
        """Return what is left to each of those with the best score, before the others have their turns."""
        if not costs:
            return tuple(pot * chance for chance in self._plain.tie("round", tied))
        found = self._tied.get((costs, pot, best, tied))
        if found is None:
            others = costs[1:]
            bust, low, tie = self._ends(costs, pot, best, tied)
            fed = self._of_tied(others, pot + costs[0], best, tied)
            same = self._of_tied(others, pot, best, tied)
            more = self._of_tied(others, pot, best, tied + 1)
            found = tuple(bust * fed[at] + low * same[at] + tie * more[at] for at in range(tied))
            self._tied[costs, pot, best, tied] = found
        return found

    def _if_nobody(self, costs: Costs, pot: int, at: int) -> float:
        """Return what the pot is worth to who has bust in the turn ``at``, when all before have too."""
        if not costs:
            # The next round is begun by the one who had the second turn in this (DR-3.6).
            return pot * self._plain.opening("round", self._size).values[at - 1]
        bust, _, _ = self._ends(costs, pot, 0, 0)
        return bust * self._if_nobody(costs[1:], pot + costs[0], at) if bust else 0.0

    def _ends(self, costs: Costs, pot: int, best: int, tied: int) -> tuple[float, float, float]:
        """Return with what probability a turn ends in a bust, below the best score, and at it."""
        stand, roll = self._turn(costs, pot, best, tied)
        here = [1.0] + [0.0] * self._dice.target
        bust = low = tie = 0.0
        for total in range(self._dice.target + 1):
            if total and (total == self._wins_at or stand[total] >= roll[total] - EQUAL):
                low += here[total] * (total < best)
                tie += here[total] * (total == best)
                continue
            for after, probability in self._dice.steps[total]:
                if after:
                    here[after] += here[total] * probability
                else:
                    bust += here[total] * probability
        return bust, low, tie


@lru_cache(maxsize=64)
def dangerous_round(dice: Dice, size: int, *, instant_win: bool, share: bool) -> DangerousRound:
    """Return such rounds by these rules, which keep what they have worked out."""
    plain = contest(dice, instant_win=instant_win, share=share)
    return DangerousRound(dice, plain, size, instant_win=instant_win)
