"""The kernel and the naive models agree on the two games against a bank, move by move."""

from collections import deque
from copy import deepcopy
from itertools import product
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.contracts.events.bank import PacksShuffled
from services.contracts.events.dice import Rolled
from services.contracts.events.match import LotDrawn
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake
from services.engine.rules.games import cards_bank, dice_bank
from services.engine.rules.games.cards_bank import CARDS_BANK
from services.engine.rules.games.dice_bank import DICE_BANK
from services.engine.rules.kernel import SPECTATOR, Expire, Leave, Refusal
from tests.rules.counting import ways
from tests.rules.naive_cards_bank import NaiveCardsBank
from tests.rules.naive_dice_bank import NaiveDiceBank
from tests.support.matches import start
from tests.support.options import as_given, tables

DICE_MOVES = {"roll": dice_bank.Roll(), "stand": dice_bank.Stand()}
CARD_MOVES = {"ask": cards_bank.Ask(), "stand": cards_bank.Stand()}
COMMON = {"leave": Leave(), "expire": Expire()}


def shuffles_in(facts):
    return [fact.draw.result for fact in facts if isinstance(fact, PacksShuffled)]


def options_apart_from_first_bank(options):
    given = as_given(options)
    del given["first_bank"]
    return given


class Dice:
    """dice-bank, for both."""

    rules, moves = DICE_BANK, DICE_MOVES

    @staticmethod
    def naive_of(options, seats, bank, facts):
        del facts
        return NaiveDiceBank(options_apart_from_first_bank(options), seats, bank)

    @staticmethod
    def follow(naive, seat, word, amount, facts):
        dice = [face for fact in facts if isinstance(fact, Rolled) for face in fact.draw.result]
        return naive.play(seat, word, amount, dice)

    @staticmethod
    def compare(game, naive):
        state = game.match.game
        assert naive.number == state.round
        assert [player.chips for player in naive.players] == list(state.chips)
        places = tuple(player.place for player in naive.players)
        if naive.over:
            assert places == game.match.places
            return
        assert [place or 0 for place in places] == list(state.ledger.places)
        assert naive.bank == state.ledger.bank
        assert [player.stake or 0 for player in naive.players] == list(state.stakes)
        for player in naive.players:
            bust = player.dice > naive.o["target"]
            assert state.totals[player.seat] == (0 if bust else player.dice)


class Cards:
    """cards-bank, for both."""

    rules, moves = CARDS_BANK, CARD_MOVES

    @staticmethod
    def naive_of(options, seats, bank, facts):
        return NaiveCardsBank(options_apart_from_first_bank(options), seats, bank, shuffles_in(facts))

    @staticmethod
    def follow(naive, seat, word, amount, facts):
        naive.shuffles = deque(shuffles_in(facts))
        refused = naive.play(seat, word, amount)
        assert not naive.shuffles
        return refused

    @staticmethod
    def compare(game, naive):
        state = game.match.game
        assert naive.coup == state.round
        assert naive.chips == list(state.chips)
        if naive.over:
            assert tuple(naive.place[seat] for seat in range(naive.n)) == game.match.places
            return
        assert [naive.place.get(seat, 0) for seat in range(naive.n)] == list(state.ledger.places)
        assert naive.bank == state.ledger.bank
        assert [naive.stake.get(seat, 0) for seat in range(naive.n)] == list(state.stakes)
        for viewer in (SPECTATOR, *range(naive.n)):
            view = CARDS_BANK.observe(state, viewer)
            seen = [[card for card in (player.first, player.second) if card] for player in view.players]
            assert seen == naive.seen_by(None if viewer == SPECTATOR else viewer)
            assert view.stock == len(naive.deck)
            for player in view.players:
                if player.total is not None:
                    assert player.total == naive.total(player.seat)


BOTH = pytest.mark.parametrize("game_of", [Dice, Cards])


def compare(game_of, game, naive):
    waiting = matches.pending(game.match)
    assert naive.over == game.match.over
    assert naive.turn() == (waiting.turn if waiting else None)
    game_of.compare(game, naive)
    for seat in range(game.seats):
        listed = matches.legal(game.match, seat)
        assert naive.legal(seat) == [
            (move.min, move.max) if hasattr(move, "min") else str(move.__struct_config__.tag)
            for move in listed
        ]


def chosen(game_of, naive, rng, seats, waiting, meddling):
    """A seat, and a move as a word and an amount: mostly a legal one, at times anything by anybody."""
    if rng.random() < meddling:
        word = rng.choice([*game_of.moves, "stake", "stake", "leave", "expire"])
        return rng.randrange(seats), word, rng.randint(-1, 12)
    move = rng.choice(naive.legal(waiting.turn))
    return (waiting.turn, move, 0) if isinstance(move, str) else (waiting.turn, "stake", rng.randint(*move))


def play_both(game_of, options, seats, seed, meddling):
    rng = Random(seed)
    game = start(game_of.rules, options, seats, seed)
    lots = [fact.seat for fact in game.facts if isinstance(fact, LotDrawn)]
    naive = game_of.naive_of(options, seats, lots[0] if lots else options.first_bank, game.facts)
    compare(game_of, game, naive)
    while (waiting := matches.pending(game.match)) is not None:
        seat, word, amount = chosen(game_of, naive, rng, seats, waiting, meddling)
        move = Stake(amount) if word == "stake" else (game_of.moves | COMMON)[word]
        outcome = game.play(seat, move)
        if isinstance(outcome, Refusal):
            assert game_of.follow(naive, seat, word, amount, ()) == (outcome.code, outcome.clause)
        else:
            assert game_of.follow(naive, seat, word, amount, outcome) is None, (seat, word, amount)
        compare(game_of, game, naive)
    for seat in range(seats):
        for word, move in (game_of.moves | COMMON | {"stake": Stake(1)}).items():
            outcome = game.play(seat, move)
            assert isinstance(outcome, Refusal)
            assert game_of.follow(naive, seat, word, 1, ()) == (outcome.code, outcome.clause)


@BOTH
@pytest.mark.parametrize("count", [300, pytest.param(3_000, marks=pytest.mark.thorough)])
def test_kernel_and_naive_model_agree_move_by_move(game_of, count):
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(tables(game_of.rules, seats_max=7), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.03, 0.2]))
    def agree(table, seed, meddling):
        play_both(game_of, *table, seed, meddling)

    agree()


STAKES = [(1, 1), (1, 4), (2, 3)]


def dice_combinations():
    for target, double, points, (low, high) in product([9, 21], [False, True], [False, True], STAKES):
        for chips, length in product([low * 2, 9, 30], [{"laps": 1}, {"laps": 2}, {"rounds": 4}]):
            yield {
                "target": target, "exact_pays_double": double, "points": points, "min_stake": low, "max_stake": high,
                "starting_chips": chips, **length,
            }  # fmt: skip


def card_combinations():
    for decks, bank, points, (low, high) in product([1, 3], ["rotates", "stays"], [False, True], STAKES):
        for chips, coups in product([low * 3, 11, 40], [1, 4, None]):
            yield {
                "decks": decks, "bank": bank, "points": points, "min_stake": low, "max_stake": high,
                "starting_chips": chips, "coups": coups,
            }  # fmt: skip


@pytest.mark.parametrize(
    ("game_of", "combinations"),
    [(Dice, dice_combinations), (Cards, card_combinations)],
    ids=["Dice", "Cards"],
)
@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_they_agree_for_every_combination_of_options(game_of, combinations, rounds):
    for number, combination in enumerate(combinations()):
        options = msgspec.convert(combination, game_of.rules.options)
        for seats in (2, 3, 5):
            for step in range(rounds):
                play_both(game_of, options, seats, number * 1_000 + step, 0.03)


def naive_ways(options, seats, moves):
    """The counts of ``counting.ways`` for dice-bank, by the naive model and copies of it."""
    counts, matches_at = [1], [Dice.naive_of(options, seats, options.first_bank, ())]
    for _ in range(moves):
        after = []
        for naive in matches_at:
            for move in [] if naive.over else naive.legal(naive.turn()):
                word, amounts = (
                    ("stake", range(move[0], move[1] + 1)) if isinstance(move, tuple) else (move, [0])
                )
                faces = [(face,) for face in range(1, 7)] if word == "roll" else [()]
                for amount, dice in product(amounts, faces):
                    copy = deepcopy(naive)
                    assert copy.play(naive.turn(), word, amount, dice) is None
                    after.append(copy)
        matches_at = after
        counts.append(len(after))
    return counts


@pytest.mark.parametrize(
    ("options", "seats"),
    [
        (dice_bank.Options(first_bank=0), 2),
        (dice_bank.Options(first_bank=1, starting_chips=1, rounds=2), 3),
        (dice_bank.Options(first_bank=0, exact_pays_double=True, starting_chips=3, rounds=3), 3),
    ],
)
def test_they_count_the_same_ways(options, seats):
    assert naive_ways(options, seats, 4) == ways(DICE_BANK, options, seats, 4)
