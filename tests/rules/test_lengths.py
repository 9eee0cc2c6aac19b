"""Random matches end, and how long they are: ``pytest tests/rules/test_lengths.py -m thorough -s`` prints the table."""

from statistics import mean, quantiles

import pytest

from tests.rules.laws import over_every_rules
from tests.support.matches import played_out

MOVES_MAX = 20_000
"""More than this, and a match does not end in any sense that a player would accept."""


@over_every_rules
@pytest.mark.parametrize("matches", [5, pytest.param(300, marks=pytest.mark.thorough)])
def test_random_matches_end_and_report_their_lengths(rules, matches, capsys):
    lines = []
    for seats in range(max(2, rules.seats_min), min(6, rules.seats_max) + 1):
        lengths = [
            len(played_out(rules, rules.options(), seats, seed, leave_rate=0, limit=MOVES_MAX).commands)
            for seed in range(matches)
        ]
        lines.append(
            f"  {rules.id:14} {seats} seats  mean {mean(lengths):7.1f}  median {quantiles(lengths, n=2)[0]:6.0f}"
            f"  longest {max(lengths):6}  moves, {matches} random matches"
        )
    with capsys.disabled():
        print("\n" + "\n".join(lines) if matches > 100 else "", end="")  # noqa: T201
