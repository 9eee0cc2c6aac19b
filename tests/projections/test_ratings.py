"""Ratings, worked out by hand. Leads of 400 and 800 points give fractions that can be checked on paper."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.projections.leaderboards.ratings import START, Entry, expected, is_provisional, k_factor, rate


def match(*players: tuple[int, int, int]) -> list[int]:
    """Rate players given as (rating, games, place); return their deltas in thousandths."""
    entries = [Entry(f"p{at}", rating, games, place) for at, (rating, games, place) in enumerate(players)]
    return [change.after - change.before for change in rate(entries)]


@pytest.mark.parametrize(("games", "k"), [(0, 40), (29, 40), (30, 20), (99, 20), (100, 10), (5000, 10)])
def test_k_falls_with_games(games, k):
    assert k_factor(games) == k


def test_provisional_under_thirty_games():
    assert is_provisional(29)
    assert not is_provisional(30)


@pytest.mark.parametrize(
    ("lead", "score"),
    [
        (0, Fraction(1, 2)),
        (400_000, Fraction(10, 11)),
        (-400_000, Fraction(1, 11)),
        (800_000, Fraction(100, 101)),
    ],
)
def test_expected_score(lead, score):
    # 10 ** (lead / 400) is 1, 10, 1/10 and 100 here.
    assert abs(Fraction(expected(lead)) - score) < Fraction(1, 10**45)


def test_expected_score_between_the_fractions():
    # 200 points: 1 / (1 + 10 ** -0.5); the square root of ten is 3.16227766016837933199889354443...
    root = Decimal("3.16227766016837933199889354443271853371955513932521")
    with localcontext() as context:
        context.prec = 50
        assert abs(expected(200_000) - root / (root + 1)) < Decimal("1e-45")


def test_two_equal_newcomers():
    # 40 * (1 - 1/2) = 20
    assert match((START, 0, 1), (START, 0, 2)) == [20_000, -20_000]


def test_a_draw_between_equals_moves_nothing():
    assert match((START, 0, 1), (START, 0, 1)) == [0, 0]


def test_favourite_wins_and_loses():
    # 1400 against 1000: expected 10/11.
    # Wins: 10 * 1/11 = 0.909, the newcomer 40 * -1/11 = -3.636; loses: 10 * -10/11 = -9.091, the other 40 * 10/11.
    assert match((1_400_000, 100, 1), (START, 0, 2)) == [909, -3636]
    assert match((1_400_000, 100, 2), (START, 0, 1)) == [-9091, 36_364]


def test_a_draw_between_unequals():
    # 20 * (1/2 - 10/11) = -90/11 = -8.1818...
    assert match((1_400_000, 50, 1), (START, 50, 1)) == [-8182, 8182]


def test_three_players_with_a_tie():
    # Equal newcomers at places 1, 1, 3; K / (n-1) = 20. First two: 20 * (0 + 1/2); the third: 20 * (-1/2 - 1/2).
    assert match((START, 0, 1), (START, 0, 1), (START, 0, 3)) == [10_000, 10_000, -20_000]


def test_four_players_far_apart_with_a_tie():
    # A 1800 K10, B 1400 K20, C 1000 K40, D 1000 K40, at places 2, 1, 3, 3; K / 3.
    # A-B: 0 - 10/11       A-C, A-D: 1 - 100/101    B-C, B-D: 1 - 10/11    C-D: 1/2 - 1/2
    # A: 10/3 * (-10/11 + 2/101)       = 10/3 * -988/1111  = -2.96430...
    # B: 20/3 * (10/11 + 2/11)         = 20/3 * 12/11      = 7.27272...
    # C, D: 40/3 * (-1/101 - 1/11)     = 40/3 * -112/1111  = -1.34413...
    assert match((1_800_000, 100, 2), (1_400_000, 30, 1), (START, 3, 3), (START, 29, 3)) == [
        -2964,
        7273,
        -1344,
        -1344,
    ]


def test_halves_go_to_the_even_thousandth():
    # Sixteen tied above one, all equal with K 10: 10_000 / 16 * 1/2 = 312.5 thousandths each.
    assert match(*[(START, 100, 1)] * 16, (START, 100, 17)) == [312] * 16 + [-5000]


def test_all_from_before_the_match():
    # The order of the seats does not matter.
    table = [(1_210_123, 12, 2), (987_654, 45, 1), (1_000_001, 230, 2), (1_555_555, 99, 4)]
    forwards = match(*table)
    assert match(*reversed(table)) == list(reversed(forwards))


def test_nobody_plays_alone_or_against_themselves():
    with pytest.raises(ValueError, match="two or more"):
        rate([Entry("p", START, 0, 1)])
    with pytest.raises(ValueError, match="different"):
        rate([Entry("p", START, 0, 1), Entry("p", START, 0, 2)])


players = st.lists(
    st.tuples(st.integers(-500_000, 4_000_000), st.just(10), st.integers(1, 8)), min_size=2, max_size=8
)


@given(players)
def test_with_equal_k_only_rounding_is_lost(table):
    deltas = match(*table)
    assert abs(sum(deltas)) <= len(table) / 2
    if len(table) == 2:
        assert sum(deltas) == 0


@given(st.integers(-4_000_000, 4_000_000))
def test_two_expectations_are_one(lead):
    assert abs(expected(lead) + expected(-lead) - 1) < Decimal("1e-45")


def test_the_surrounding_decimal_context_does_not_matter():
    expected.cache_clear()
    before = match((1_234_567, 5, 1), (1_000_321, 31, 2), (900_000, 150, 3))
    expected.cache_clear()
    with localcontext() as context:
        context.prec = 3
        assert match((1_234_567, 5, 1), (1_000_321, 31, 2), (900_000, 150, 3)) == before
