"""One turn with the dice: what a roll can add, and where a player gets to who rolls on."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Final

from msgspec import Struct

from services.engine.rules.games.dice_race import PONTOON_ONE_DIE_FROM, PONTOON_TARGET, Options

FACES: Final = range(1, 7)


class Dice(Struct, frozen=True, dict=True):
    """The dice of a game: the total not to exceed, and whether two are rolled below 14 (DR-2.5)."""

    target: int
    pontoon: bool = False

    @classmethod
    def of(cls, options: Options) -> Dice:
        """Return the dice that a table plays with."""
        return cls(PONTOON_TARGET, pontoon=True) if options.pontoon else cls(options.target)

    @cached_property
    def steps(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """By total, what a roll leads to: totals, 0 for a bust, each with its probability."""
        return tuple(self._steps_from(total) for total in range(self.target + 1))

    @cached_property
    def first_at(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """By bound, the first total at or above it that rolling on gets to, 0 for a bust, with probabilities."""
        return tuple(self._first_at(bound) for bound in range(self.target + 1))

    def _steps_from(self, total: int) -> tuple[tuple[int, float], ...]:
        count = 2 if self.pontoon and total < PONTOON_ONE_DIE_FROM else 1
        found: dict[int, float] = {}
        for faces in product(FACES, repeat=count):
            after = total + sum(faces)
            after = 0 if after > self.target else after
            found[after] = found.get(after, 0.0) + 1 / 6**count
        return tuple(sorted(found.items()))

    def _first_at(self, bound: int) -> tuple[tuple[int, float], ...]:
        here = [1.0] + [0.0] * self.target
        found: dict[int, float] = {}
        for total in range(self.target + 1):
            if total and total >= bound:
                found[total] = found.get(total, 0.0) + here[total]
                continue
            for after, probability in self.steps[total]:
                if after:
                    here[after] += here[total] * probability
                else:
                    found[0] = found.get(0, 0.0) + here[total] * probability
        return tuple((total, probability) for total, probability in sorted(found.items()) if probability)
