"""The kernel's cards-places and the naive one, side by side, move by move, over random matches."""

from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.contracts.events.cards import Dealt
from services.contracts.events.match import LotDrawn
from services.engine.rules import match as matches
from services.engine.rules.games.cards_places import CARDS_PLACES
from services.engine.rules.kernel import AUDITOR, Expire, Leave, Refusal
from services.engine.rules.shedding import Catch, SitOut
from tests.rules.naive_cards_places import NaiveCardsPlaces
from tests.support.card_moves import any_move
from tests.support.matches import start
from tests.support.options import tables

MOVES_MAX = 4_000


def decks_in(facts):
    return [list(fact.draw.result) for fact in facts if isinstance(fact, Dealt)]


def same(naive, game):
    """Compare all that both know."""
    view = matches.observe(game.match, AUDITOR)
    assert [list(player.hand) for player in view.players] == naive.hand
    assert list(view.stock_cards) == naive.stock
    assert list(view.pile) == naive.pile
    assert [player.points for player in view.players] == naive.points
    assert game.match.over == naive.over
    if game.match.over:
        assert list(game.match.places) == naive.place
        return
    assert [player.place or 0 for player in view.players] == naive.place
    assert (view.turn, view.suit or "", view.penalty, view.skips) == (
        naive.turn, naive.suit, naive.penalty, naive.fours
    )  # fmt: skip
    assert (view.direction == "clockwise") == naive.clockwise
    assert view.called == naive.said
    assert [player.turns_to_sit_out for player in view.players] == naive.to_sit
    assert [player.seat for player in view.players if player.catchable] == naive.catchable()
    assert {player.seat for player in view.players if player.owes_call} == naive.owing


def play_both(options, seats, seed, moods):
    """Play one match in both, and compare after each move; ``moods`` says how random the movers are."""
    rng = Random(seed)
    game = start(CARDS_PLACES, options, seats, seed)
    (first,) = [fact.seat for fact in game.opening if isinstance(fact, LotDrawn)]
    naive = NaiveCardsPlaces(msgspec.to_builtins(options), seats, first, decks_in(game.opening))
    same(naive, game)
    while not game.match.over and len(game.commands) < MOVES_MAX:
        waiting = matches.pending(game.match)
        seat = rng.choice(waiting.may_act)
        listed = matches.legal(game.match, seat)
        if rng.random() < moods["leave"]:
            seat, move = rng.randrange(seats), rng.choice([Leave(), Expire()])
        elif rng.random() < moods["strange"]:
            own = SitOut(), Catch(rng.randint(0, seats))
            seat, move = rng.randrange(seats), any_move(game.match.game.hands, rng, *own)
        else:
            laying = [move for move in listed if move.__struct_config__.tag == "play"]
            move = rng.choice(laying if laying and rng.random() < moods["eager"] else listed)
        outcome = game.play(seat, move)
        if not isinstance(outcome, Refusal):
            naive.decks += decks_in(outcome)
        answer = naive.play(seat, msgspec.to_builtins(move))
        assert answer == (outcome.clause if isinstance(outcome, Refusal) else None), (seat, move, outcome)
        same(naive, game)
    assert game.match.over
    return game


MOODS = st.fixed_dictionaries(
    {
        "leave": st.sampled_from([0.0, 0.0, 0.005, 0.05]),
        "strange": st.sampled_from([0.1, 0.5]),
        "eager": st.sampled_from([0.0, 0.7, 1.0]),
    }
)


@pytest.mark.parametrize("count", [60, pytest.param(3_000, marks=pytest.mark.thorough)])
def test_the_naive_model_agrees_move_by_move(count):
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(tables(CARDS_PLACES), st.integers(0, 2**32), MOODS)
    def agrees(table, seed, moods):
        play_both(*table, seed, moods)

    agrees()
