"""Counts of positions of the games against a bank at small sizes; what a person can work out is worked out here."""

import pytest

from services.engine.rules.games import cards_bank
from services.engine.rules.games.cards_bank import CARDS_BANK
from services.engine.rules.games.dice_bank import DICE_BANK, Options
from services.engine.rules.kernel import SPECTATOR, Over, Waiting
from tests.rules.counting import openings, reachable, ways


def test_the_first_three_moves_of_dice_bank():
    """By hand. Seat 0 is the bank, and the stake is fixed, so there is one opening, and seat 1 has to roll (DB-3.1).

    One move: 6 faces.

    Two moves: after each, stand (1) or roll (6): 6 * (1 + 6) = 42.

    Three moves, by what the second was:
    - stood, 6 ways: the bank has to roll, 6 * 6 = 36;
    - rolled above nine, 6 of 36 ways: nobody is left, so the bank does not roll (DB-3.3); round 2, and seat 0 has to
      roll, 6 * 6 = 36;
    - rolled up to nine, 30 ways: stand or roll, 30 * (1 + 6) = 210.
    Together 282.
    """
    assert ways(DICE_BANK, Options(first_bank=0), 2, 3) == [1, 6, 42, 282]


def test_the_stakes_that_three_can_lay():
    """By hand. Everybody has four chips, and a stake is from one to three (DB-2.4 with m = 1).

    Seat 1 leaves one chip of the bank's four for seat 2: stakes 1 to 3, 3 ways. Seat 2 has what is left of four: after
    1 up to 3, after 2 up to 2, after 3 up to 1, together 3 + 2 + 1 = 6 ways. Then seat 1 rolls: 6 * 6 = 36.
    """
    assert ways(DICE_BANK, Options(first_bank=0, starting_chips=4, max_stake=3), 3, 3) == [1, 3, 6, 36]


def test_the_stakes_that_three_can_lay_when_the_bank_may_owe_double():
    """By hand. Six chips each, stakes from one to three (DB-2.4 with m = 2).

    Seat 1: (6 - 2 * 1) / 2 = 2, so 2 ways. Seat 2: after 1, (6 - 2) / 2 = 2; after 2, (6 - 4) / 2 = 1: 2 + 1 = 3 ways.
    """
    options = Options(first_bank=0, starting_chips=6, max_stake=3, exact_pays_double=True)
    assert ways(DICE_BANK, options, 3, 3) == [1, 2, 3, 18]


def test_all_running_positions_of_a_first_round_of_two():
    """By hand. Seat 1 on turn: totals 0 to 9, which is 10. The bank on turn: totals 0 to 9, and seat 1 stands with 1
    to 9, which is 10 * 9 = 90; without anybody standing the round is over. Together 100.
    """
    found = reachable(DICE_BANK, Options(first_bank=0), 2, lambda state: state.round == 1)
    assert sum(isinstance(DICE_BANK.pending(state), Waiting) for state in found) == 100


def test_the_lot_multiplies_by_the_seats():
    assert ways(DICE_BANK, Options(), 3, 3) == [3 * n for n in ways(DICE_BANK, Options(first_bank=0), 3, 3)]


@pytest.mark.parametrize(
    ("options", "seats", "expected"),
    [
        # Not worked out by hand: counted once, agreed on by the naive model in test_naive_banks, and kept.
        (Options(first_bank=0), 2, [1, 6, 42, 282, 1845, 12330]),
        (Options(first_bank=0, starting_chips=1, rounds=2), 3, [1, 6, 42, 282, 1845, 12114]),
    ],
)  # fmt: skip
def test_ways_after_five_moves(options, seats, expected):
    assert ways(DICE_BANK, options, seats, 5) == expected


@pytest.fixture
def small_pack(monkeypatch):
    monkeypatch.setattr(cards_bank, "PACK", ("AC", "4D", "6H", "8S"))


ONE_COUP = cards_bank.Options(first_bank=0, max_stake=1, coups=1)


def test_one_coup_with_four_cards(small_pack):
    """By hand. Two seats, a fixed stake, and a pack of ace, four, six and eight. 4! = 24 orders: 24 openings.

    The eight is a natural. It is the first or second card in 2 * 3! = 12 orders: those coups are over at the deal.
    In the other 12 the player stands or asks: 12 * 2 = 24 ways after one move.

    Of these, 12 stood. Of the 12 that asked, 6 got the eight: with an ace that makes nine (2 orders), with four or six
    a bust (4). The other 6 got the last small card: four and six are a bust (the bank has the ace, 2 orders), the
    others are not (4). So 12 + 2 + 4 = 18 go on, and the bank stands or draws: 18 * 2 = 36. Then the match is over.
    """
    assert ways(CARDS_BANK, ONE_COUP, 2, 3) == [24, 24, 36, 0]


def test_what_a_spectator_can_tell_apart_of_these(small_pack):
    """By hand. At the deal a spectator sees the natural that is shown, or none: 1 position in which the player is to
    decide (both cards are face down), and 2 that are over (the player's eight, or the bank's).

    After the player's move, with the bank to decide: stood, or drew a card without a bust: ace (on four or six), four
    or six (on the ace), eight (on the ace). That is 1 + 4 = 5 positions.
    """
    found = reachable(CARDS_BANK, ONE_COUP, 2, lambda state: True)
    seen = {
        CARDS_BANK.observe(state, SPECTATOR)
        for state in found
        if isinstance(CARDS_BANK.pending(state), Waiting)
    }
    assert sorted(len(view.to_act) for view in seen) == [1, 1, 1, 1, 1, 2]
    dealt = {CARDS_BANK.observe(state, SPECTATOR) for state in openings(CARDS_BANK, ONE_COUP, 2)}
    assert len(dealt) == 3


def test_every_way_of_four_cards_ends(small_pack):
    options = cards_bank.Options(first_bank=0, max_stake=1, starting_chips=3, coups=2)
    found = reachable(CARDS_BANK, options, 2, lambda state: True)
    assert any(isinstance(CARDS_BANK.pending(state), Over) for state in found)
    assert all(sum(state.chips) + sum(state.stakes) == 6 and min(state.chips) >= 0 for state in found)
