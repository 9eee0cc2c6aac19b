"""Ratings: pairwise Elo by place, exact and the same on every machine.

Everybody starts at 1000. After a match of n players, each against each by place:

    delta_i = K_i / (n - 1) * sum over j of (S_ij - E_ij)
    E_ij    = 1 / (1 + 10 ** ((R_j - R_i) / 400))

S is 1 for the better place, 1/2 for the same place, 0 for the worse one. K is 40 for a player with fewer
than 30 rated games, 20 under 100, then 10. Every R and K is the one from before the match.

Ratings are whole thousandths (1000 is ``1_000_000``). The arithmetic is decimal, with fifty digits, from
operations whose last digit the decimal specification fixes (multiplication, division, ``ln``, ``exp``;
not ``power``), so no platform's floating point has a say. A player's delta is rounded once, at the end,
to the nearest thousandth, halves to the even one.

Sums: a pair's ``S - E`` is computed once and given to the other with its sign turned. With equal K the
deltas of two players therefore cancel exactly, and those of n players miss zero by rounding alone, by less
than n/2 thousandths. With unequal K they need not cancel: that is the policy, not an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from functools import lru_cache
from typing import Final

from msgspec import Struct

POLICY: Final = 1
"""The version of what this page says. Another K, start or rounding is another policy."""

START: Final = 1_000_000
THOUSANDTHS: Final = 1000
PROVISIONAL_GAMES: Final = 30
ESTABLISHED_GAMES: Final = 100

_EXACT: Final = Context(prec=50, rounding=ROUND_HALF_EVEN, traps=[InvalidOperation, Overflow])
_ONE: Final = Decimal(1)
_HALF: Final = Decimal("0.5")
_LN_10: Final = _EXACT.ln(Decimal(10))
_SCALE: Final = Decimal(400 * THOUSANDTHS)


class Entry(Struct, frozen=True):
    """A player as he or she came out of a match: the place, and rating and rated games from before it."""

    player: str
    rating: int
    games: int
    place: int


class Change(Struct, frozen=True):
    """What a match did to a player's rating. ``games`` counts the rated games before the match."""

    player: str
    place: int
    before: int
    after: int
    games: int
    k: int


def k_factor(games: int) -> int:
    """Return K for a player with so many rated games behind."""
    if games < PROVISIONAL_GAMES:
        return 40
    return 20 if games < ESTABLISHED_GAMES else 10


def is_provisional(games: int) -> bool:
    """Say whether so few games leave the rating provisional."""
    return games < PROVISIONAL_GAMES


@lru_cache(maxsize=65_536)
def expected(lead: int) -> Decimal:
    """Return the score expected from a player who leads another by so many thousandths, between 0 and 1."""
    power = _EXACT.exp(_EXACT.divide(_EXACT.multiply(Decimal(-lead), _LN_10), _SCALE))
    return _EXACT.divide(_ONE, _EXACT.add(_ONE, power))


def rate(entries: Sequence[Entry]) -> tuple[Change, ...]:
    """Apply one match to its players, in the order given.

    Raises:
        ValueError: fewer than two players, or one of them twice.
    """
    if len(entries) < 2 or len({entry.player for entry in entries}) < len(entries):  # noqa: PLR2004
        raise ValueError("a match is rated between two or more different players")
    surplus = [Decimal(0)] * len(entries)
    for i, one in enumerate(entries):
        for j in range(i + 1, len(entries)):
            other = entries[j]
            pair = _EXACT.subtract(_score(one.place, other.place), expected(one.rating - other.rating))
            surplus[i] = _EXACT.add(surplus[i], pair)
            surplus[j] = _EXACT.subtract(surplus[j], pair)
    return tuple(_change(entry, surplus[i], len(entries) - 1) for i, entry in enumerate(entries))


def _score(place: int, other: int) -> Decimal:
    if place == other:
        return _HALF
    return _ONE if place < other else Decimal(0)


def _change(entry: Entry, surplus: Decimal, opponents: int) -> Change:
    k = k_factor(entry.games)
    delta = _EXACT.divide(_EXACT.multiply(surplus, Decimal(k * THOUSANDTHS)), Decimal(opponents))
    return Change(
        player=entry.player, place=entry.place, before=entry.rating,
        after=entry.rating + int(delta.to_integral_value(ROUND_HALF_EVEN)), games=entry.games, k=k,
    )  # fmt: skip
