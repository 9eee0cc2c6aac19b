"""The kernel's cards-points and the naive one, side by side, move by move, over random matches."""

from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.contracts.events.cards import Dealt, PileShuffled
from services.contracts.events.match import LotDrawn
from services.engine.rules import match as matches
from services.engine.rules.games.cards_points import CARDS_POINTS
from services.engine.rules.kernel import AUDITOR, Expire, Leave, Refusal
from services.engine.rules.shedding import Pass
from tests.rules.naive_cards_points import NaiveCardsPoints
from tests.support.card_moves import any_move
from tests.support.matches import start
from tests.support.options import tables

MOVES_MAX = 40_000


def shuffles_in(facts):
    return [list(fact.draw.result) for fact in facts if isinstance(fact, Dealt | PileShuffled)]


def same(naive, game):
    """Compare all that both know."""
    view = matches.observe(game.match, AUDITOR)
    assert [list(player.hand) for player in view.players] == naive.hand
    assert list(view.stock_cards) == naive.stock
    assert list(view.pile) == naive.pile
    assert [player.losses for player in view.players] == naive.losses
    assert view.dealer == naive.dealer
    assert game.match.over == naive.over
    if game.match.over:
        assert list(game.match.places) == naive.place
        return
    assert [player.place or 0 for player in view.players] == naive.place
    assert (view.turn, view.suit or "", view.penalty, view.drew, list(view.out)) == (
        naive.turn, naive.suit, naive.unpaid, naive.drew is not None, naive.finished
    )  # fmt: skip
    assert [player.seat for player in view.players if player.owes_call] == (
        [] if naive.owes is None else [naive.owes]
    )


def play_both(options, seats, seed, moods):
    """Play one match in both, and compare after each move; ``moods`` says how random the movers are."""
    rng = Random(seed)
    game = start(CARDS_POINTS, options, seats, seed)
    (dealer,) = [fact.seat for fact in game.opening if isinstance(fact, LotDrawn)]
    naive = NaiveCardsPoints(msgspec.to_builtins(options), seats, dealer, shuffles_in(game.opening))
    same(naive, game)
    while not game.match.over and len(game.commands) < MOVES_MAX:
        waiting = matches.pending(game.match)
        seat = rng.choice(waiting.may_act)
        listed = matches.legal(game.match, seat)
        if rng.random() < moods["leave"]:
            seat, move = rng.randrange(seats), rng.choice([Leave(), Expire()])
        elif rng.random() < moods["strange"]:
            seat, move = rng.randrange(seats), any_move(game.match.game.hands, rng, Pass())
        else:
            laying = [move for move in listed if move.__struct_config__.tag == "play"]
            move = rng.choice(laying if laying and rng.random() < moods["eager"] else listed)
        outcome = game.play(seat, move)
        if not isinstance(outcome, Refusal):
            naive.shuffles += shuffles_in(outcome)
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


@pytest.mark.parametrize("count", [40, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_the_naive_model_agrees_move_by_move(count):
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(tables(CARDS_POINTS, seats_max=5), st.integers(0, 2**32), MOODS)
    def agrees(table, seed, moods):
        play_both(*table, seed, moods)

    agrees()
