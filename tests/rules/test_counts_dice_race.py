"""Counts of positions of dice-race at small sizes; those that a person can work out are worked out here."""

import pytest

from services.engine.rules.games.dice_race import DICE_RACE, Options
from services.engine.rules.kernel import Waiting
from tests.rules.counting import openings, reachable, ways
from tests.support.enumerating_chance import every_outcome

DANGEROUS = Options(first=0, stakes="dangerous", ties="share", starting_chips=1, max_rounds=1)


def test_the_first_three_moves_of_two_players():
    """By hand. Seat 0 begins (``first``), so there is one opening.

    One move: the first roll is compulsory (DR-2.2), 6 faces: 6.

    Two moves: after each of the 6, stand (1 way) or roll (6 faces): 6 * (1 + 6) = 42.

    Three moves, by what the second was:
    - stood, 6 ways: seat 1 has the turn and must roll, 6 * 6 = 36;
    - rolled above nine, (4,6) (5,5) (6,4) (5,6) (6,5) (6,6), 6 ways: bust, so seat 1 must roll, 6 * 6 = 36;
    - rolled up to nine, 36 - 6 = 30 ways: stand or roll, 30 * (1 + 6) = 210.
    Together 36 + 36 + 210 = 282.
    """
    assert ways(DICE_RACE, Options(first=0), 2, 3) == [1, 6, 42, 282]


def test_the_first_two_rolls_of_pontoon():
    """By hand. The first roll is two dice: 36 ways, and 12 at most, so below 14: stand (1) or two dice (36).

    36 * (1 + 36) = 1332.
    """
    assert ways(DICE_RACE, Options(first=0, pontoon=True), 2, 2) == [1, 36, 1332]


def test_instant_win_saves_a_turn():
    """By hand, as above, with one difference: (3,6) (4,5) (5,4) (6,3) end the round at once.

    Three moves: stood, 6 * 6 = 36, and bust, 6 * 6 = 36, as before. Exactly nine, 4 ways: round 2 begins, and seat 1
    must roll, 4 * 6 = 24. Otherwise up to eight, 30 - 4 = 26 ways: 26 * 7 = 182. Together 278.

    If one chip wins the match, it is over after those 4, and they go no further: 278 - 24 = 254.
    """
    assert ways(DICE_RACE, Options(first=0, instant_win=True), 2, 3) == [1, 6, 42, 278]
    assert ways(DICE_RACE, Options(first=0, instant_win=True, chips_to_win=1), 2, 3) == [1, 6, 42, 254]


def test_the_lot_multiplies_by_the_seats():
    assert ways(DICE_RACE, Options(), 3, 3) == [
        3 * count for count in ways(DICE_RACE, Options(first=0), 3, 3)
    ]
    assert len(list(openings(DICE_RACE, Options(), 5))) == 5


def test_all_running_positions_of_a_first_round_of_two():
    """By hand. A running position of a round is: whose turn, the total so far, and the score of who is done.

    Seat 0 on turn: totals 0 to 9, nothing scored yet: 10.
    Seat 1 on turn: totals 0 to 9, and seat 0 has scored 0 (bust) or 1 to 9: 10 * 10 = 100.
    A tie leads to a playoff, where seat 1 begins (DR-3.2): again 10 + 100 = 110.
    A tie or two busts in it lead to a playoff that seat 0 begins, 110, and the next is one that seat 1 begins again:
    those are counted. Together 3 * 110 = 330.
    """
    found = reachable(DICE_RACE, Options(first=0), 2, lambda state: state.round == 1)
    assert sum(isinstance(DICE_RACE.pending(state), Waiting) for state in found) == 330


@pytest.mark.parametrize(
    ("options", "seats", "expected"),
    [
        # Not worked out by hand: test_naive_dice_race counts the first four again with the other model.
        (Options(first=0), 2, [1, 6, 42, 282, 1845, 12330]),
        (DANGEROUS, 2, [1, 6, 42, 282, 1845, 11682]),
        (Options(first=0, instant_win=True, chips_to_win=1), 3, [1, 6, 42, 254, 1502, 9376]),
        (Options(first=1, target=12), 3, [1, 6, 42, 288, 1924, 12747]),
    ],
)  # fmt: skip
def test_ways_after_five_moves(options, seats, expected):
    assert ways(DICE_RACE, options, seats, 5) == expected


def test_enumerating_chance_takes_every_outcome_once():
    def two_draws(chance):
        first = chance.dice(1, 1).result
        return first, chance.lot(1, (4, 7)).result if first == (6,) else None

    assert list(every_outcome(two_draws)) == [
        *(((face,), None) for face in range(1, 6)),
        ((6,), 4),
        ((6,), 7),
    ]
    assert len(list(every_outcome(lambda chance: chance.shuffle(1, ("a", "b", "b"))))) == 3
