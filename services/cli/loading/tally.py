"""What has come of a load so far."""

from __future__ import annotations

import random
from collections import Counter, deque
from time import monotonic
from typing import Final

SAMPLES_MAX: Final = 20_000
"""Of each latency so many are kept, drawn evenly from all there were: enough for percentiles, whatever the time."""
RECENT_SECONDS: Final = 5.0


class Samples:
    """Times of one kind, in seconds."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._kept: list[float] = []
        self.count = 0
        self.longest = 0.0

    def add(self, seconds: float) -> None:
        """Take one in."""
        self.count += 1
        self.longest = max(self.longest, seconds)
        if len(self._kept) < SAMPLES_MAX:
            self._kept.append(seconds)
        elif (place := self._chance.randrange(self.count)) < SAMPLES_MAX:
            self._kept[place] = seconds

    def percentile(self, share: float) -> float:
        """Return the time below which so large a share lies, in seconds; 0 as long as there is none."""
        if not self._kept:
            return 0.0
        ordered = sorted(self._kept)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Tally:
    """Counts of one load.

    Attributes:
        moves: how long accepted moves took, from sending to the answer.
        lag: from the answer to a move to its last event at the table's spectator.
        refusals: answers with a problem, by its code.
        broken: requests and streams that had no answer or broke off, by what it was.
        games: accepted moves by game.
        matches: how many were played to the end.
        playing: how many tables play at this moment.
    """

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - it only picks samples
        self.moves = Samples(chance)
        self.lag = Samples(chance)
        self.refusals: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.games: Counter[str] = Counter()
        self.matches = 0
        self.playing = 0
        self.begun = monotonic()
        self._recent: deque[tuple[float, int]] = deque()

    def moved(self, game: str, seconds: float) -> None:
        """Count an accepted move."""
        self.moves.add(seconds)
        self.games[game] += 1

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return monotonic() - self.begun

    def a_second_lately(self) -> float:
        """Return the moves a second of the last seconds; to be asked regularly."""
        now = monotonic()
        self._recent.append((now, self.moves.count))
        while len(self._recent) > 2 and now - self._recent[0][0] > RECENT_SECONDS:  # noqa: PLR2004
            self._recent.popleft()
        (then, before), (_, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - then) if now > then else 0.0
