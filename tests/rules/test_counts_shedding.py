"""Counts of positions of the shedding games at small sizes; what a person can work out is worked out here.

The pack is five and six of clubs and diamonds, everybody gets one card, one is turned up, and one is left to draw.
Of the three others exactly two go on any of these cards: all but the one that has neither its suit nor its rank.
"""

import pytest

from services.engine.rules.games import cards_places, cards_points
from services.engine.rules.games.cards_places import CARDS_PLACES
from services.engine.rules.games.cards_points import CARDS_POINTS
from services.engine.rules.kernel import SPECTATOR, Over
from tests.rules.counting import openings, reachable, ways


@pytest.fixture(autouse=True)
def small_pack(monkeypatch):
    for game in (cards_places, cards_points):
        monkeypatch.setattr(game, "CARDS", ("5C", "5D", "6C", "6D"))
        monkeypatch.setattr(game, "HAND_SIZE", 1)


def test_the_first_three_moves_of_cards_places():
    """By hand. 2 lots, and 4! = 24 orders of the cards: 48 openings. The rest is counted for one lot.

    One move. The first player's card goes in 2/3 of the orders, 16, and then the match is over; a card may be drawn
    in all 24 (CP-2.3): 40.

    Two moves. After the draw nothing is left to draw. The second player's card goes in 16 orders; "drawing" is
    possible in 24, and yields nothing (CP-7.3): 40.

    Three moves, after those 24. The first player holds two of the three cards beside the top one, and two of the three
    go, so 24 * 2 * 2/3 = 32 plays of one card. Each leaves one card, so it comes with the call or without: 64.
    The two have the same rank in 24 * 1/3 = 8 orders; then exactly one of them has the suit of the top card, and both
    may be laid with that one first: 8 plays, which need no call. At least one of the two always goes, so the call
    in advance is open in all 24 (CP-6.5), and so is drawing: 64 + 8 + 24 + 24 = 120.
    """
    assert ways(CARDS_PLACES, cards_places.Options(), 2, 3) == [48, 2 * 40, 2 * 40, 2 * 120]


def test_with_single_cards_and_no_voluntary_draws():
    """By hand. The first player's card goes in 16 orders, and is played; in the other 8 the player draws: 24.

    In those 8 the first player had the one card that does not go on the top one, so the second player's card does, and
    is played: 8. Then every match is over.
    """
    options = cards_places.Options(several_at_once=False, voluntary_draw=False)
    assert ways(CARDS_PLACES, options, 2, 3) == [48, 2 * 24, 2 * 8, 0]


def test_what_a_spectator_can_tell_apart_at_the_start():
    """By hand. Two first players and four cards to be turned up: 8 sights of 48 openings, in both games."""
    for rules, options in ((CARDS_PLACES, cards_places.Options()), (CARDS_POINTS, cards_points.Options())):
        assert len({rules.observe(state, SPECTATOR) for state in openings(rules, options, 2)}) == 8


def test_every_position_of_cards_places():
    """Not worked out by hand: counted once, and kept. Positions with six idle turns are left out."""
    found = reachable(CARDS_PLACES, cards_places.Options(), 2, lambda state: state.idle < 6)
    assert any(isinstance(CARDS_PLACES.pending(state), Over) for state in found)
    assert len(found) == 840


def test_the_first_two_moves_of_cards_points():
    """By hand. 2 lots and 24 orders: 48 openings. The rest is counted for one lot.

    One move. The card goes in 16 orders; that ends the deal, and the next has 24 orders again: 16 * 24 = 384. Drawing
    is possible in 24: together 408.

    Two moves. In each of the 384 new deals as in the first one: 384 * 2/3 * 24 = 6144 and 384, together 6528. After
    the 24 draws the turn goes on with two cards in hand: 24 * 2 * 2/3 = 32 plays, each of which leaves one card and
    comes with the word or without, 64; or a pass, 24. Together 88, and with the others 6616.
    """
    assert ways(CARDS_POINTS, cards_points.Options(), 2, 2) == [48, 2 * 408, 2 * 6616]
