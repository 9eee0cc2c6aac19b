"""The bots of cards-places and cards-points: always legal, reproducible, and with a memory that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from bench.bots.arena import arrangements, play
from services.engine.bots import cards_places, cards_points, shedding
from services.engine.bots.bot import Situation
from services.engine.bots.catalogue import BOTS
from services.engine.bots.places_playout import policy_for
from services.engine.bots.points_playout import DECK
from services.engine.bots.shedding_memory import Memory
from services.engine.bots.shedding_search import best_of
from services.engine.bots.situation import of_running_round, situation
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import Refusal
from services.engine.rules.shedding import Call, Catch, Draw, Play
from tests.support.matches import Recorded, start

GAMES = ("cards-places", "cards-points")
TABLES: list[tuple[str, int, dict[str, Any]]] = [
    ("cards-places", 2, {}),
    ("cards-places", 5, {}),
    ("cards-places", 3, {"several_at_once": False, "voluntary_draw": False, "seven_cancels": True}),
    ("cards-places", 4, {"joker_wild": True, "king_reverses": True, "points_limit": 100}),
    ("cards-points", 2, {"loss_limit": 200}),
    ("cards-points", 4, {"loss_limit": 200, "macao_call": "last_card"}),
]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(cards_places, "PLAYOUTS", 12)
    monkeypatch.setattr(cards_points, "PLAYOUTS", 12)


def moments(
    game: str, seats: int, options: dict[str, Any], seed: int
) -> Iterator[tuple[Recorded, Situation]]:
    """Let bots of both levels play a match, and give every moment at which one is on turn."""
    rules = CATALOGUE.game(game)
    assert rules
    recorded = start(rules, msgspec.convert(options, rules.options), seats, seed)
    chance = Random(seed)
    history = of_running_round((), recorded.opening)
    while not recorded.match.over:
        waiting = matches.pending(recorded.match)
        assert waiting
        seen = situation(recorded.match, waiting.turn, history)
        assert seen
        yield recorded, seen
        move = BOTS.bot(game, ("sharp", "casual")[waiting.turn % 2]).choose(seen, chance)
        assert move
        facts = recorded.play(waiting.turn, move)
        assert not isinstance(facts, Refusal), (move, seen.legal)
        history = of_running_round(history, facts)


def first_moment(game: str) -> Situation:
    """Return what the first player sees, with a choice to make."""
    for seed in range(20):
        _, seen = next(moments(game, 3, {}, seed))
        if len(shedding.plays(seen.legal)) > 1:
            return seen
    raise AssertionError("nobody can ever choose")


@pytest.mark.parametrize(("game", "seats", "options"), TABLES)
def test_whole_matches_are_legal_under_every_option(game, seats, options):
    assert sum(1 for _ in moments(game, seats, options, 1)) > seats


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("level", ["casual", "sharp"])
def test_the_same_seed_gives_the_same_choice(game, level):
    seen = first_moment(game)
    choose = BOTS.bot(game, level).choose
    assert [choose(seen, Random(seed)) for seed in range(5)] == [
        choose(seen, Random(seed)) for seed in range(5)
    ]


@pytest.mark.parametrize(("game", "seats", "options"), TABLES)
def test_what_is_remembered_as_certain_is_true_and_every_deal_is_possible(game, seats, options):
    chance = Random(3)
    for recorded, seen in moments(game, seats, options, 2):
        state: Any = recorded.match.game
        deck = DECK if game == "cards-points" else policy_for(seen.options).deck
        memory = Memory(deck, seen)
        hands, stock = memory.deal(chance)
        assert [len(hand) for hand in hands] == [len(hand) for hand in state.hands]
        assert len(stock) == len(state.stock)
        assert Counter(deck.order[kind] for kind in hands[seen.seat]) == Counter(state.hands[seen.seat])
        dealt = Counter(kind for cards in (*hands, stock) for kind in cards)
        dealt.update(deck.kinds[card] for card in seen.view.pile)
        assert max(dealt.values()) <= deck.copies
        for slots, cards in zip((*memory._hands, memory._stock), (*state.hands, state.stock), strict=True):
            certain = Counter(deck.order[slot.bit_length() - 1] for slot in slots if slot.bit_count() == 1)
            assert not certain - Counter(cards)


def test_a_turned_pile_is_known_card_by_card():
    for seed in range(10):
        for recorded, seen in moments("cards-places", 5, {}, seed):
            turned = any(type(fact).__name__ == "PileTurned" for fact in seen.history)
            if turned and seen.view.stock:
                memory = Memory(policy_for(seen.options).deck, seen)
                known = memory._stock[-1]
                assert known == 1 << policy_for(seen.options).deck.kinds[recorded.match.game.stock[-1]]
                return
    raise AssertionError("the pile never ran out")


@pytest.mark.parametrize("game", GAMES)
def test_a_history_that_is_missing_is_borne(game):
    for at, (_, seen) in enumerate(moments(game, 3, {}, 4)):
        bare = msgspec.structs.replace(seen, history=())
        assert BOTS.bot(game, "sharp").choose(bare, Random(0)) in (*seen.legal,)
        if at > 30:
            break


@pytest.mark.parametrize("game", GAMES)
def test_sharp_says_the_word_with_every_play_that_needs_it(game):
    needed = 0
    for _, seen in moments(game, 2, {}, 5):
        if any(isinstance(move, Play) and move.macao for move in seen.legal):
            choice = BOTS.bot(game, "sharp").choose(seen, Random(0))
            if isinstance(choice, Play):
                left = len(seen.view.players[seen.seat].hand) - len(choice.cards)
                needed += left == 1
                assert choice.macao or left != 1 or seen.view.called
    assert needed


def test_sharp_catches_and_calls_before_anything_else():
    seen = first_moment("cards-places")
    tempted = msgspec.structs.replace(seen, legal=(*seen.legal, Catch(2)))
    assert cards_places.sharp(tempted, Random(0)) == Catch(2)
    aside = msgspec.structs.replace(seen, turn=1 - seen.seat, legal=(Call(), Catch(2)))
    assert cards_places.sharp(aside, Random(0)) == Call()


@pytest.mark.parametrize("game", GAMES)
def test_casual_forgets_the_word_now_and_then_but_mostly_says_it(game):
    seen = first_moment(game)
    player = msgspec.structs.replace(seen.view.players[seen.seat], hand=("7C", "8C"), cards=2)
    players = tuple(player if each.seat == seen.seat else each for each in seen.view.players)
    last_but_one = msgspec.structs.replace(
        seen,
        view=msgspec.structs.replace(seen.view, players=players),
        legal=(Play(("7C",)), Play(("7C",), macao=True), Draw()),
    )
    said = [BOTS.bot(game, "casual").choose(last_but_one, Random(seed)).macao for seed in range(200)]
    assert 140 < sum(said) < 195


def test_of_several_orders_of_the_same_cards_one_is_tried_and_with_the_word():
    legal = (
        Play(("7C", "7D")),
        Play(("7C", "7D"), macao=True),
        Play(("7D", "7C")),
        Play(("7C",)),
        Draw(),
        Call(),
    )
    assert shedding.plays(legal) == [Play(("7C", "7D"), macao=True), Play(("7D", "7C")), Play(("7C",))]
    assert shedding.others(legal) == [Draw()]


def test_the_usual_way_is_left_only_for_a_clear_lead():
    noise = Random(1)
    assert best_of([0, 1, 2], noise.random, lambda luck, way: (way == 2) + luck, 60) == 2
    assert best_of([0, 1], lambda: noise.choice((-1, 1)), lambda luck, way: way * luck, 60) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("game", "options"), [("cards-places", {}), ("cards-points", {"loss_limit": 200})])
def test_sharp_is_ahead(game, options, monkeypatch):
    monkeypatch.setattr(cards_places, "PLAYOUTS", 60)
    monkeypatch.setattr(cards_points, "PLAYOUTS", 60)
    rules = CATALOGUE.game(game)
    assert rules
    seatings = arrangements(2)
    played = [play(rules, options, seatings[seed % 2], seed, BOTS) for seed in range(40)]
    assert sum(each.share_of("sharp") for each in played) > 21
