"""The best play in a round of dice-race, and in its playoffs: exact, by dynamic programming.

What is optimised: the probability of winning the prize that the round is about, a chip or the pot, when all who follow
play by the same measure. A tie is worth what the playoff is worth from the place that the player will have in it, or
with shared pots the player's share. A round that everybody loses leaves the prize for the next one, and is worth what
that one is worth from the player's place in it. A playoff that everybody loses is played again. Of two ways that are
equally good, standing is taken.

Playoffs lead to playoffs, and a round to the next, so their values are found by iteration until they stand still.
What a bust costs in dangerous stakes is in `race_danger`.

Words: of a contest among ``size`` players some have acted, and ``left`` are still to act, the one on turn included.
``best`` is the best score so far, 0 if all have bust, and ``tied`` is how many have it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from services.engine.bots.race_die import Dice

Kind = Literal["round", "playoff"]

ITERATIONS_MAX: Final = 1_000
STILL: Final = 1e-15
"""Values that move less than this in an iteration stand still."""
EQUAL: Final = 1e-12
"""Ways whose values differ by less are equally good; what floating point leaves of equality is smaller."""

Values = tuple[float, ...]


class Worth(Struct, frozen=True):
    """A position in a contest.

    Attributes:
        tied: for each of those who have the best score, in the order of their turns, the chance of the prize.
        to_come: the same for those still to act, in turn.
    """

    tied: Values
    to_come: Values


class Opening(Struct, frozen=True):
    """A contest in which nobody stands yet.

    Attributes:
        values: by the order of turns, the chance of the prize before the first roll.
        stand: by the order of turns, then by total, what standing is worth where all before have bust.
        roll: the same for rolling.
    """

    values: Values
    stand: tuple[Values, ...]
    roll: tuple[Values, ...]


class Contest:
    """Rounds and playoffs with the same dice, by the same rules."""

    def __init__(self, dice: Dice, *, instant_win: bool, share: bool) -> None:
        """Nothing is worked out before it is asked for."""
        self._dice = dice
        self._share = share
        self._wins_at = dice.target if instant_win else 0
        self._worths: dict[tuple[Kind, int], dict[tuple[int, int, int], Worth]] = {}
        self._leading: dict[tuple[Kind, int], tuple[Values, Values]] = {}
        self._openings: dict[tuple[Kind, int], Opening] = {}
        self._playoffs: dict[int, Values] = {}

    # What is asked

    def choices(
        self, kind: Kind, size: int, left: int, best: int, tied: int, total: int
    ) -> tuple[float, float]:
        """Return what standing and rolling are worth to the player on turn, who has ``total``."""
        if not best:
            opening = self.opening(kind, size)
            return opening.stand[size - left][total], opening.roll[size - left][total]
        stand, roll = self._of_leader(kind, left)
        if total > best:
            return stand[total], roll[total]
        if total == best:
            return self._worth(kind, left - 1, best, tied + 1).tied[-1], roll[total]
        return 0.0, self._forced_roll(kind, left, best, tied, total)

    def opening(self, kind: Kind, size: int) -> Opening:
        """Return a whole contest before its first roll."""
        found = self._openings.get((kind, size))
        if found is None:
            if kind == "playoff":
                self.playoff(size)
            else:
                self._find_round(size)
            found = self._openings[kind, size]
        return found

    def playoff(self, size: int) -> Values:
        """Return the chances in a playoff, by the order of turns."""
        if size not in self._playoffs:
            self._find_playoff(size)
        return self._playoffs[size]

    def tie(self, kind: Kind, tied: int) -> Values:
        """Return what is left to each of several with the same best score, when all have had their turn (DR-3.2)."""
        if tied == 1:
            return (1.0,)
        if self._share:
            return (1 / tied,) * tied
        values = self.playoff(tied)
        # The last begins. A round is clockwise and its playoff counter-clockwise, so the others follow from the last to
        # the first; a playoff's playoff goes the same way round, so they follow in their order.
        return values[::-1] if kind == "round" else (*values[1:], values[0])

    # Values that refer to themselves

    def _find_round(self, size: int) -> None:
        values: Values = (1 / size,) * size
        for _ in range(ITERATIONS_MAX):
            # The next round is begun by the one who had the second turn in this (DR-3.6).
            opening = self._open("round", (values[-1], *values[:-1]))
            before, values = values, opening.values
            self._openings["round", size] = opening
            if _still(before, values):
                return

    def _find_playoff(self, size: int) -> None:
        self._playoffs[size] = (1 / size,) * size
        for _ in range(ITERATIONS_MAX):
            before = self._playoffs[size]
            self._worths.pop(("playoff", size), None)
            # All bust, and the same players play again, begun by the last of them (DR-3.2).
            opening = self._open("playoff", (*before[1:], before[0]))
            self._openings["playoff", size] = opening
            self._playoffs[size] = opening.values
            if _still(before, opening.values):
                return

    # Positions

    def _worth(self, kind: Kind, left: int, best: int, tied: int) -> Worth:
        """Return a position in which somebody stands. It depends on ties among ``left + tied`` players at most."""
        known = self._worths.setdefault((kind, left + tied), {})
        found = known.get((left, best, tied))
        if found is None:
            found = known[left, best, tied] = (
                self._next(kind, left, best, tied) if left else Worth(self.tie(kind, tied), ())
            )
        return found

    def _next(self, kind: Kind, left: int, best: int, tied: int) -> Worth:
        """Let the next player have the turn."""
        stand, roll = self._of_leader(kind, left)
        if_tie = self._worth(kind, left - 1, best, tied + 1)
        if_out = self._worth(kind, left - 1, best, tied)
        at_best = max(if_tie.tied[-1], roll[best])
        stands_at_best = if_tie.tied[-1] >= roll[best] - EQUAL
        ends = self._ends(stand, roll, best, stands_at_best=stands_at_best)
        own = at_best * self._hits(best) + sum(
            probability * max(stand[total], roll[total])
            for total, probability in self._dice.first_at[best]
            if total > best
        )
        tie, out = ends.get(best, 0.0), ends.get(0, 0.0)
        of_tied = tuple(tie * if_tie.tied[at] + out * if_out.tied[at] for at in range(tied))
        to_come = [tie * a + out * b for a, b in zip(if_tie.to_come, if_out.to_come, strict=True)]
        self._add_leads(kind, left, best, ends, to_come)
        return Worth(of_tied, (own, *to_come))

    def _open(self, kind: Kind, if_nobody: Values) -> Opening:
        """Work a contest out from its last turn to its first; ``if_nobody`` is what it is worth if all bust."""
        size = len(if_nobody)
        values: list[float] = []
        stands: list[Values] = []
        rolls: list[Values] = []
        all_bust = 1.0
        for at in range(size - 1, -1, -1):
            stand, roll = self._leader(kind, size - at, if_bust=all_bust * if_nobody[at])
            ends = self._ends(stand, roll, 0, stands_at_best=False)
            to_come = [ends.get(0, 0.0) * value for value in values]
            self._add_leads(kind, size - at, 0, ends, to_come)
            values = [roll[0], *to_come]
            all_bust *= ends.get(0, 0.0)
            stands.insert(0, stand)
            rolls.insert(0, roll)
        return Opening(tuple(values), tuple(stands), tuple(rolls))

    # A turn

    def _of_leader(self, kind: Kind, left: int) -> tuple[Values, Values]:
        found = self._leading.get((kind, left))
        if found is None:
            found = self._leading[kind, left] = self._leader(kind, left, if_bust=0.0)
        return found

    def _leader(self, kind: Kind, left: int, if_bust: float) -> tuple[Values, Values]:
        """Return by total what standing and rolling are worth to a player who has more than everybody before."""
        target = self._dice.target
        stand = [0.0] * (target + 1)
        roll = [0.0] * (target + 1)
        for total in range(target, -1, -1):
            if total:
                wins = total == self._wins_at
                stand[total] = 1.0 if wins else self._worth(kind, left - 1, total, 1).tied[0]
            roll[total] = sum(
                probability * (max(stand[after], roll[after]) if after else if_bust)
                for after, probability in self._dice.steps[total]
            )
        return tuple(stand), tuple(roll)

    def _forced_roll(self, kind: Kind, left: int, best: int, tied: int, total: int) -> float:
        """Return what rolling is worth from below the best score."""
        value = 0.0
        for after, probability in self._dice.steps[total]:
            if 0 < after < best:
                value += probability * self._forced_roll(kind, left, best, tied, after)
            elif after:
                value += probability * max(self.choices(kind, 0, left, best, tied, after))
        return value

    def _ends(self, stand: Values, roll: Values, best: int, *, stands_at_best: bool) -> dict[int, float]:
        """Return the scores that a turn ends with, 0 for a bust, with their probabilities."""
        here = [0.0] * (self._dice.target + 1)
        for total, probability in self._dice.first_at[best]:
            here[total] += probability
        ends = {0: here[0]}
        for total in range(max(best, 1), self._dice.target + 1):
            if not here[total]:
                continue
            stands = stands_at_best if total == best else stand[total] >= roll[total] - EQUAL
            if stands or total == self._wins_at:
                ends[total] = here[total]
                continue
            for after, probability in self._dice.steps[total]:
                if after:
                    here[after] += here[total] * probability
                else:
                    ends[0] += here[total] * probability
        return ends

    def _hits(self, best: int) -> float:
        return next((probability for total, probability in self._dice.first_at[best] if total == best), 0.0)

    def _add_leads(
        self, kind: Kind, left: int, best: int, ends: dict[int, float], to_come: list[float]
    ) -> None:
        """Add to the chances of those to come what is left to them when the player on turn takes the lead."""
        for total, probability in ends.items():
            if total > best and total != self._wins_at:
                for at, value in enumerate(self._worth(kind, left - 1, total, 1).to_come):
                    to_come[at] += probability * value


@lru_cache(maxsize=64)
def contest(dice: Dice, *, instant_win: bool, share: bool) -> Contest:
    """Return the contest by these rules, which keeps what it has worked out."""
    return Contest(dice, instant_win=instant_win, share=share)


def _still(before: Values, after: Values) -> bool:
    return max(abs(a - b) for a, b in zip(before, after, strict=True)) < STILL
