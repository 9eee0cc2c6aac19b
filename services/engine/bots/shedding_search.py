"""A flat search by playouts: is another way better than the usual one, over many deals of the unseen cards?

Every way is tried on the same deals, so luck in the deal cancels out of the comparison. Effort goes by sequential
halving: all ways get a few deals, the better half a few more, beside the usual way, which is tried to the end; what has
clearly fallen behind it is given up. What is left of chance could still make a poor way look good, so the usual one is
left only for a lead that stands out from the noise.

The effort is counted in playouts and never in time, so that a choice can be made again from its seed on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt
from typing import Final, TypeVar

Way = TypeVar("Way")
Position = TypeVar("Position")

LEAD_MIN: Final = 1.0
"""How many standard errors a way has to be ahead of the usual one to be preferred."""
LAG_MAX: Final = 2.5
"""How many it may be behind before it is given up."""
ROUNDS_MIN: Final = 4


def best_of(
    ways: Sequence[Way],
    deal: Callable[[], Position],
    value: Callable[[Position, Way], float],
    playouts: int,
) -> Way:
    """Return the way that does best on the average, or the usual one where none is clearly better.

    Args:
        ways: the usual one first.
        deal: gives a position that agrees with what is known. It is shared, so ``value`` must not change it.
        value: plays a position out from a way.
        playouts: how many playouts there may be in all, about.
    """
    tried: list[list[float]] = [[] for _ in ways]
    rivals = list(range(1, len(ways)))
    rounds = max(ROUNDS_MIN, len(rivals).bit_length())
    for _ in range(rounds):
        if not rivals:
            return ways[0]
        for _ in range(max(2, playouts // (rounds * (len(rivals) + 1)))):
            position = deal()
            for at in (0, *rivals):
                tried[at].append(value(position, ways[at]))
        leads = {at: _lead(tried[at], tried[0]) for at in rivals}
        rivals = sorted((at for at in rivals if leads[at] > -LAG_MAX), key=lambda at: (-sum(tried[at]), at))
        rivals = rivals[: (len(rivals) + 1) // 2]
    return ways[rivals[0]] if rivals and _lead(tried[rivals[0]], tried[0]) > LEAD_MIN else ways[0]


def _lead(rival: Sequence[float], usual: Sequence[float]) -> float:
    """Return by how much a way is ahead of the usual one on the same deals, in standard errors."""
    leads = [own - other for own, other in zip(rival, usual, strict=True)]
    mean = sum(leads) / len(leads)
    variance = sum((lead - mean) ** 2 for lead in leads) / (len(leads) - 1)
    if variance == 0:
        return 0.0 if mean == 0 else inf if mean > 0 else -inf
    return mean / sqrt(variance / len(leads))
