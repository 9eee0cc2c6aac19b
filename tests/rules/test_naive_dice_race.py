"""The kernel and the naive model agree on dice-race, move by move."""

from copy import deepcopy
from itertools import product
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.contracts.events.dice import Rolled
from services.contracts.events.match import LotDrawn
from services.engine.rules import match as matches
from services.engine.rules.games.dice_race import DICE_RACE, Options, Roll, Stand
from services.engine.rules.kernel import Expire, Leave, Refusal
from tests.rules.counting import ways
from tests.rules.naive_dice_race import NaiveDiceRace
from tests.support.matches import start
from tests.support.options import as_given, tables

MOVES = {"roll": Roll(), "stand": Stand(), "leave": Leave(), "expire": Expire()}


def naive_of(options, seats, first):
    given = as_given(options)
    del given["first"]
    return NaiveDiceRace(given, seats, first)


def compare(game, naive):
    """Everything that both know of a position."""
    state, waiting = game.match.game, matches.pending(game.match)
    assert naive.over == game.match.over
    assert naive.turn() == (waiting.turn if waiting else None)
    assert naive.chips == list(state.chips)
    assert naive.pot == state.pot
    if naive.over:
        assert tuple(naive.place) == game.match.places
        return
    assert [place or 0 for place in naive.place] == list(state.places)
    assert naive.playoff == state.playoff
    assert naive.extra == (state.kind == "extra")
    assert naive.dice_count() == state.dice
    assert sum(naive.rolled) == state.total
    assert [seat for seat in naive.order if seat not in naive.scores] == list(state.to_play)
    for seat in range(game.seats):
        assert naive.legal(seat) == [
            str(move.__struct_config__.tag) for move in matches.legal(game.match, seat)
        ]


def play_both(options, seats, seed, meddling):
    rng = Random(seed)
    game = start(DICE_RACE, options, seats, seed)
    lots = [fact.seat for fact in game.facts if isinstance(fact, LotDrawn)]
    naive = naive_of(options, seats, lots[0] if lots else options.first)
    compare(game, naive)
    while (waiting := matches.pending(game.match)) is not None:
        if rng.random() < meddling:  # anything, by anybody
            seat, move = (
                rng.randrange(seats),
                rng.choice(["roll", "stand", "roll", "stand", "leave", "expire"]),
            )
        else:
            seat, move = waiting.turn, rng.choice(naive.legal(waiting.turn))
        outcome = game.play(seat, MOVES[move])
        if isinstance(outcome, Refusal):
            assert naive.play(seat, move) == (outcome.code, outcome.clause)
        else:
            dice = [face for fact in outcome if isinstance(fact, Rolled) for face in fact.draw.result]
            assert naive.play(seat, move, dice) is None, (seat, move)
        compare(game, naive)
    for seat, move in product(range(seats), MOVES):
        outcome = game.play(seat, MOVES[move])
        assert isinstance(outcome, Refusal)
        assert naive.play(seat, move) == (outcome.code, outcome.clause)


@pytest.mark.parametrize("count", [300, pytest.param(3_000, marks=pytest.mark.thorough)])
def test_kernel_and_naive_model_agree_move_by_move(count):
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(tables(DICE_RACE, seats_max=8), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.02, 0.2]))
    def agree(table, seed, meddling):
        play_both(*table, seed, meddling)

    agree()


def every_combination():
    """Every combination of the options that change how the game goes, with small numbers."""
    for pontoon, target, instant_win in product([False, True], [9, 12, 15], [False, True]):
        common = {"pontoon": pontoon, "instant_win": instant_win} | ({} if pontoon else {"target": target})
        if pontoon and target != 9:
            continue
        yield common | {"chips_to_win": 2}
        for stakes, ties, max_rounds, (chips, stake) in product(
            ["even", "dangerous"], ["playoff", "share"], [1, 3, None], [(1, 1), (5, 2), (9, 1)]
        ):
            numbers = {"starting_chips": chips, "stake": stake, "max_rounds": max_rounds}
            yield common | {"stakes": stakes, "ties": ties, **numbers}


@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_they_agree_for_every_combination_of_options(rounds):
    tables = 0
    for number, chosen in enumerate(every_combination()):
        options = msgspec.convert(chosen, Options)
        for seats in (2, 3, 5):
            for step in range(rounds):
                play_both(options, seats, number * 1_000 + step, 0.03)
                tables += 1
    assert tables == 8 * 37 * 3 * rounds


def naive_ways(options, seats, moves):
    """The counts of ``counting.ways``, by the naive model and copies of it."""
    counts, matches_at = [1], [naive_of(options, seats, options.first)]
    for _ in range(moves):
        after = []
        for naive in matches_at:
            for move in naive.legal(naive.turn()) if not naive.over else []:
                faces = product(range(1, 7), repeat=naive.dice_count()) if move == "roll" else [()]
                for dice in faces:
                    copy = deepcopy(naive)
                    assert copy.play(naive.turn(), move, dice) is None
                    after.append(copy)
        matches_at = after
        counts.append(len(after))
    return counts


@pytest.mark.parametrize(
    ("options", "seats"),
    [
        (Options(first=0), 2),
        (Options(first=0, stakes="dangerous", ties="share", starting_chips=1, max_rounds=1), 2),
        (Options(first=0, instant_win=True, chips_to_win=1), 3),
        (Options(first=1, target=12), 3),
    ],
)
def test_they_count_the_same_ways(options, seats):
    assert naive_ways(options, seats, 4) == ways(DICE_RACE, options, seats, 4)
