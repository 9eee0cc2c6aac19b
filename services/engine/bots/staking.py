"""How bots lay stakes against a bank.

Places follow chips, so what counts in the end is to be ahead of the others. Every chip staked loses on average, because
the odds are with the bank; a large stake is a way to overtake somebody, at a price.

- In dice-bank the price is high: the bank wins equal totals, and a stake loses a fifth to a third of itself. ``sharp``
  lays the smallest stake, and only in the last lap what it takes to overtake the leader.
- In cards-bank the price is a few hundredths, and everybody who stakes more has the better chance to end in front.
  ``sharp`` lays the largest stake until it is ahead, and the smallest while it is: then others have to catch up.

Both were compared with the other ways (always the smallest or the largest, catching up later or earlier, never by more
than is needed) over thousands of matches, and won the most first places.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from services.engine.rules.banking import Stake, StakeRange


def lead_of(seat: int, wealth: Mapping[int, int]) -> int:
    """Return by how many chips a player is ahead of all others, negative for one who is behind.

    ``wealth`` has the chips of everybody still in, what is staked included.
    """
    return wealth[seat] - max((chips for other, chips in wealth.items() if other != seat), default=0)


def enough_to_overtake(allowed: StakeRange, lead: int) -> Stake:
    """Return the stake that puts a player in front if it wins, or the nearest to it."""
    return Stake(max(allowed.min, min(allowed.max, 1 - lead)))


def casual_stake(allowed: StakeRange, chance: Random) -> Stake:
    """Return a stake by the mood: often the smallest, sometimes the largest, else something between."""
    mood = chance.random()
    if mood < 1 / 3:
        return Stake(allowed.min)
    if mood > 0.9:  # noqa: PLR2004 - one time in ten
        return Stake(allowed.max)
    return Stake(chance.randint(allowed.min, (allowed.min + allowed.max + 1) // 2))
