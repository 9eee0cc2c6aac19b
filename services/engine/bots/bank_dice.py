"""The best play in a round of dice-bank: exact, by dynamic programming.

What is optimised: the expected chips from this round, the player's own for a player and the bank's for the bank.
The bank decides against the totals and stakes that stand before it. A player decides against all who come after: the
players behind who decide by the same measure, and the bank, which answers to what then stands. Of two ways that are
equally good, standing is taken. Nobody is expected to stand where a roll cannot go wrong, six or more below the target;
where somebody has done so, it is reckoned with.

Words: a ``profile`` is what stands on the table, pairs of a total and the stakes on it, rising by total.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import gcd
from typing import Final

from msgspec import Struct

DIE: Final = 6
EQUAL: Final = 1e-12
"""Ways whose values differ by less are equally good."""
NEVER: Final = float("-inf")
"""What standing counts where nobody does it."""
POSITIONS_MAX: Final = 200_000
"""How many positions are kept before all are forgotten."""

Values = tuple[float, ...]
Profile = tuple[tuple[int, int], ...]
Stakes = tuple[int, ...]


class BankTurn(Struct, frozen=True):
    """The bank's turn against a profile.

    Attributes:
        stand: by total, what standing is worth to the bank.
        roll: by total, what rolling is worth to it.
        pays: by total, the probability that a player standing on it is paid.
    """

    stand: Values
    roll: Values
    pays: Values


class Round:
    """Rounds to the same target, by the same rules."""

    def __init__(self, target: int, *, exact_pays_double: bool) -> None:
        """Nothing is worked out before it is asked for."""
        self._target = target
        self._for_exact = 2 if exact_pays_double else 1
        self._banks: dict[Profile, BankTurn] = {}
        self._pays: dict[tuple[Profile, Stakes], Values] = {}

    def bank(self, profile: Profile) -> BankTurn:
        """Return the bank's turn against what stands, in chips."""
        if len(self._banks) > POSITIONS_MAX:
            self._banks.clear()
        found = self._banks.get(profile)
        if found is None:
            found = self._banks[profile] = self._bank(profile)
        return found

    def pays(self, profile: Profile, behind: Stakes) -> Values:
        """Return by total with what probability a player standing on it will be paid.

        Args:
            profile: what stands, that player included.
            behind: the stakes of those still to roll, in turn.
        """
        if not behind:
            return self.bank(profile).pays
        unit = gcd(*behind, *(stakes for _, stakes in profile))
        if unit > 1:
            return self.pays(
                tuple((total, stakes // unit) for total, stakes in profile),
                tuple(stake // unit for stake in behind),
            )
        if len(self._pays) > POSITIONS_MAX:
            self._pays.clear()
        found = self._pays.get((profile, behind))
        if found is None:
            found = self._pays[profile, behind] = self._expected(profile, behind)
        return found

    def choices(self, profile: Profile, stakes: Stakes, total: int) -> tuple[float, float]:
        """Return what standing and rolling are worth to the player on turn, in chips, with a total near the target.

        Args:
            profile: what stands before the player.
            stakes: the player's own, and those of the ones behind, in turn.
            total: what the player has, less than six below the target.
        """
        stand, roll = self._turn(profile, stakes)
        return stand[total], roll[total]

    def before(self, profile: Profile, stakes: Stakes, at: int) -> float:
        """Return what the round is worth to a player who has not rolled yet, and ``at`` so many others will first."""
        stand, roll = self._turn(profile, stakes)
        if not at:
            return roll[0]
        return sum(
            probability * self.before(_with(profile, total, stakes[0]), stakes[1:], at - 1)
            for total, probability in self._ends(stand, roll)
        )

    # Turns

    def _bank(self, profile: Profile) -> BankTurn:
        changes = [0] * (self._target + 1)
        for total, stakes in profile:
            changes[total] = stakes * (1 + self._times(total))
        if_bust = sum(stakes for _, stakes in profile) - sum(changes)
        stand = tuple(float(if_bust + won) for won in accumulate(changes))
        roll = self._roll(stand, float(if_bust))
        ends = [0.0] * (self._target + 1)
        for total, probability in self._ends(stand, roll):
            ends[total] = probability
        # A bust stands as 0 there, and pays everybody, as a total below the player's does.
        return BankTurn(stand, roll, (0.0, *accumulate(ends[:-1])))

    def _turn(self, profile: Profile, stakes: Stakes) -> tuple[Values, Values]:
        """Return by total what standing and rolling are worth to a player."""
        stake, behind = stakes[0], stakes[1:]
        stand = [NEVER] * (self._target + 1)
        for total in range(self._target - DIE + 1, self._target + 1):
            paid = self.pays(_with(profile, total, stake), behind)[total]
            stand[total] = stake * (paid * (1 + self._times(total)) - 1)
        return tuple(stand), self._roll(stand, -float(stake))

    def _expected(self, profile: Profile, behind: Stakes) -> Values:
        """Let the next player have the turn, and see what that leaves to those who stand."""
        expected = [0.0] * (self._target + 1)
        for total, probability in self._ends(*self._turn(profile, behind)):
            for at, chance in enumerate(self.pays(_with(profile, total, behind[0]), behind[1:])):
                expected[at] += probability * chance
        return tuple(expected)

    def _roll(self, stand: Sequence[float], if_bust: float) -> Values:
        """Return by total what rolling is worth, given what standing is."""
        target = self._target
        roll = [0.0] * (target + 1)
        best = [if_bust] * (target + DIE + 1)
        six = DIE * if_bust
        for total in range(target, -1, -1):
            roll[total] = six / DIE
            best[total] = max(stand[total], roll[total]) if total else roll[0]
            six += best[total] - best[total + DIE]
        return tuple(roll)

    def _ends(self, stand: Values, roll: Values) -> list[tuple[int, float]]:
        """Return the totals that a turn ends with, 0 for a bust, with their probabilities."""
        target = self._target
        here = [1.0] + [0.0] * target
        bust = 0.0
        ends: list[tuple[int, float]] = []
        for total, reached in enumerate(here):
            if not reached:
                continue
            if total and stand[total] >= roll[total] - EQUAL:
                ends.append((total, reached))
                continue
            for after in range(total + 1, min(total + DIE, target) + 1):
                here[after] += reached / DIE
            bust += reached * max(0, total + DIE - target) / DIE
        return [(0, bust), *ends]

    def _times(self, total: int) -> int:
        """Return how many stakes a player who is paid gets (DB-3.5)."""
        return self._for_exact if total == self._target else 1


@lru_cache(maxsize=8)
def round_to(target: int, *, exact_pays_double: bool) -> Round:
    """Return rounds by these rules, which keep what they have worked out."""
    return Round(target, exact_pays_double=exact_pays_double)


def profile_of(standing: Iterable[tuple[int, int]]) -> Profile:
    """Return the profile of players who stand, given the total and the stake of each."""
    profile: Profile = ()
    for total, stake in standing:
        profile = _with(profile, total, stake)
    return profile


def _with(profile: Profile, total: int, stake: int) -> Profile:
    """Put a stake on a total; who has bust has none there."""
    if not total:
        return profile
    stakes = dict(profile)
    stakes[total] = stakes.get(total, 0) + stake
    return tuple(sorted(stakes.items()))
