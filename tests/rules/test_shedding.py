"""What holds in both shedding games, at every position of random matches, and what the scenario files cannot show."""

from itertools import permutations
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.contracts.events.cards import Dealt, Drew, PileShuffled, PileTurned, TurnedUp
from services.contracts.events.match import RoundStarted
from services.engine.rules import match as matches
from services.engine.rules.cards import HIDDEN
from services.engine.rules.games import cards_places, cards_points
from services.engine.rules.games.cards_places import CARDS_PLACES
from services.engine.rules.games.cards_points import CARDS_POINTS
from services.engine.rules.hands import covered, dealt_one_at_a_time, without, without_all
from services.engine.rules.kernel import SPECTATOR, Expire, Leave, Refusal, Waiting
from services.engine.rules.shedding import Call, Catch, Draw, Play, points_of
from tests.support.matches import only, random_moves, start
from tests.support.options import tables

GAMES = [(CARDS_PLACES, cards_places.CARDS), (CARDS_POINTS, cards_points.CARDS)]
both = pytest.mark.parametrize(("rules", "cards"), GAMES, ids=lambda value: getattr(value, "id", ""))


def over_random_matches(rules, check, count, *, leave_rate=0.01):
    """Call ``check(game)`` at every position of random matches."""

    @settings(max_examples=count, deadline=None, database=None)
    @given(tables(rules, seats_max=rules.seats_max), st.integers(0, 2**32))
    def run(table, seed):
        game = start(rules, *table, seed)
        check(game)
        for _ in random_moves(game, Random(seed), leave_rate=leave_rate):
            check(game)

    run()


def all_cards(state):
    held = [card for hand in state.hands for card in hand]
    return sorted([*held, *state.stock, *state.pile, *getattr(state, "removed", ())])


@both
def test_no_card_is_lost_or_made(rules, cards):
    pack = sorted(cards)
    over_random_matches(rules, lambda game: all_cards(game.match.game) == pack or pytest.fail("cards"), 20)


@both
def test_what_a_viewer_is_told_has_as_many_cards(rules, cards):
    """A covered card is a card all the same, in facts and in the state that they fold to."""

    def check(game):
        state = game.match.game
        for viewer in (SPECTATOR, 0):
            if game.match.over or len(game.commands) % 40:
                return
            told = matches.fold(
                [matches.redact(rules, fact, viewer) for fact in game.facts], only(rules)
            ).game
            assert [*map(len, told.hands)] == [*map(len, state.hands)]
            assert len(told.stock) == len(state.stock)
            assert told.pile == state.pile
            assert len(all_cards(told)) == len(cards)
            for seat, hand in enumerate(told.hands):
                assert set(hand) <= {HIDDEN} if seat != viewer else hand == state.hands[seat]

    over_random_matches(rules, check, 12)


@both
def test_a_deal_is_told_to_each_seat_with_its_own_hand_only(rules, cards):
    game = start(rules, rules.options(), 3, 5)
    (dealt,) = [fact for fact in game.opening if isinstance(fact, Dealt)]
    for viewer in (SPECTATOR, 0, 1, 2):
        told = rules.redact(dealt, viewer)
        assert told.draw.cards == dealt.draw.cards == cards
        assert told.draw.result == (HIDDEN,) * len(cards)
        for seat, hand in enumerate(told.hands):
            assert hand == (dealt.hands[seat] if seat == viewer else (HIDDEN,) * 5)


@both
def test_a_drawn_card_is_told_to_who_drew_it(rules, cards):
    drew = Drew(1, ("7H",))
    assert rules.redact(drew, 1) is drew
    assert rules.redact(drew, 0) == rules.redact(drew, SPECTATOR) == Drew(1, (HIDDEN,))
    assert rules.redact(Drew(1, ()), 0) == Drew(1, ())


def test_where_the_card_turned_up_had_lain_is_not_told():
    """The cards above it are all special ones (CP-1.3), so its place in the stock would tell something about them."""
    assert msgspec.structs.fields(TurnedUp)[0].name == "card"
    assert len(msgspec.structs.fields(TurnedUp)) == 1


@both
def test_leaving_is_possible_at_every_position_and_by_everybody_in(rules, cards):
    """In every phase: open penalties, fours, words owed, answers awaited, after a draw, while sitting out."""
    pack = sorted(cards)
    phases = set()

    def check(game):
        if game.match.over:
            return
        state = game.match.game
        waiting = matches.pending(game.match)
        for seat in range(game.seats):
            for move in (Leave(), Expire()):
                outcome = matches.decide(game.match, seat, move, game.keys)
                allowed = not state.places[seat] and (isinstance(move, Leave) or seat == waiting.turn)
                assert isinstance(outcome, Refusal) is not allowed
                if not allowed:
                    continue
                match = game.match
                for fact in outcome:
                    match = matches.evolve(match, fact)
                assert match.over or all_cards(match.game) == pack
                assert match.game.places[seat] > 0
                on_turn = seat == waiting.turn
                if state.penalty:
                    phases.add(("penalty", on_turn))
                if getattr(state, "skips", 0):
                    phases.add(("four", on_turn))
                if state.silent not in ((), -1):
                    phases.add(("word owed", on_turn))
                if sum(map(bool, state.hands)) < state.places.count(0):
                    phases.add(("somebody without cards", on_turn))
                if getattr(state, "sitting", ()) and state.sitting[seat]:
                    phases.add(("sitting out", on_turn))
                if getattr(state, "drawn", None) is not None:
                    phases.add(("after a draw", on_turn))

    over_random_matches(rules, check, 25, leave_rate=0)
    seen = {name for name, _ in phases}
    assert {"penalty", "word owed"} <= seen
    assert seen >= ({"four", "sitting out"} if rules is CARDS_PLACES else {"after a draw"})


def position(rules, options, hands, top, stock=()):
    """A position with these cards, seat 0 on turn."""
    from tests.rules.card_runner import CardRunner
    from tests.rules.scenario_file import Case

    given = {"hands": " | ".join(hands), "top": top, "stock": " ".join(stock)}
    return CardRunner(rules, Case(rules.name, "", 0, options=options, given=given)).state


def test_every_order_of_cards_laid_at_once_is_accepted_if_the_first_fits():
    state = position(CARDS_PLACES, {}, ["7H 7C 7S 7D 8D", "9C 5C"], "9H")
    listed = {move.cards for move in CARDS_PLACES.legal(state, 0) if isinstance(move, Play)}
    for size in (1, 2, 3, 4):
        for cards in permutations(("7H", "7C", "7S", "7D"), size):
            outcome = CARDS_PLACES.decide(state, 0, Play(cards), None)
            assert isinstance(outcome, Refusal) is (cards[0] != "7H"), cards
            alike = [
                entry for entry in listed
                if (entry[0], entry[-1], sorted(entry)) == (cards[0], cards[-1], sorted(cards))
            ]  # fmt: skip
            assert len(alike) == (cards[0] == "7H"), cards
    # One entry for each first card, choice of others, and last card: 1 + 3 * 1 + 3 * 2 + 1 * 3.
    assert len(listed) == 13


def test_a_call_and_a_catch_race_and_the_earlier_one_holds():
    state = position(CARDS_PLACES, {}, ["7H 8D", "9C 5C 5D"], "KH", ("2C", "3C", "4C", "6C", "8C", "TC"))
    for fact in CARDS_PLACES.decide(state, 0, Play(("7H",)), None):
        state = CARDS_PLACES.evolve(state, fact)

    def after(seat, move):
        now = state
        for fact in CARDS_PLACES.decide(state, seat, move, None):
            now = CARDS_PLACES.evolve(now, fact)
        return now

    assert CARDS_PLACES.decide(after(0, Call()), 1, Catch(0), None) == Refusal(
        "not-catchable", "CP-6.4", {"seat": 0}
    )
    caught = after(1, Catch(0))
    assert CARDS_PLACES.decide(caught, 0, Call(), None) == Refusal(
        "call-not-owed", "CP-6.5", {"cards_left": 6}
    )
    assert CARDS_PLACES.legal(after(1, Draw()), 1) == ()
    assert CARDS_PLACES.decide(after(1, Draw()), 1, Catch(0), None).clause == "CP-6.4"


def test_calls_and_catches_need_no_version():
    assert Call.ANY_VERSION
    assert Catch.ANY_VERSION
    assert not Play.ANY_VERSION


def test_who_may_catch_is_public():
    """It depends on nothing but who is down to one card without the word."""
    state = position(CARDS_PLACES, {}, ["7H 8D", "9C 5C 5D", "TC TD"], "KH", ("2C",))
    for fact in CARDS_PLACES.decide(state, 0, Play(("7H",)), None):
        state = CARDS_PLACES.evolve(state, fact)
    assert CARDS_PLACES.pending(state) == Waiting(1, (0, 1, 2))


@both
def test_a_new_stock_is_shuffled_or_turned_and_told_accordingly(rules, cards):
    """The order of a turned pile is known to everybody who watched; that of a shuffled one to nobody."""
    seen = 0

    def check(game):
        nonlocal seen
        for fact in game.commands[-1].facts if game.commands else ():
            if isinstance(fact, PileTurned):
                seen += 1
                assert rules.redact(fact, SPECTATOR) is fact
            if isinstance(fact, PileShuffled):
                seen += 1
                told = rules.redact(fact, 0)
                assert told.draw.cards == fact.draw.cards
                assert told.draw.result == covered(fact.draw.result)

    over_random_matches(rules, check, 12)
    assert seen


def test_every_deal_of_a_match_begins_with_all_cards():
    options = cards_places.Options(points_limit=400)
    game = start(CARDS_PLACES, options, 4, 11)
    for _ in random_moves(game, Random(11), leave_rate=0.002):
        pass
    deals = [fact for fact in game.facts if isinstance(fact, Dealt)]
    assert len(deals) > 2
    assert len(deals) == sum(isinstance(fact, RoundStarted) for fact in game.facts)
    assert all(sorted(fact.draw.result) == sorted(cards_places.CARDS) for fact in deals)


def test_points_of_a_hand():
    """PT-6.2, and the jokers of CP-8.4."""
    assert (
        points_of(("KH", "AC", "9D", "3S", "2H", "TC", "JD", "QS", "KC", "4H", "8C"))
        == 50 + 50 + 40 + 30 + 20 + 40 + 10
    )
    assert points_of(("BJ", "RJ")) == 100
    assert points_of(()) == 0


def test_hands_bear_hidden_cards():
    assert without(("7H", "8C", "7H"), "7H") == ("8C", "7H")
    assert without((HIDDEN, HIDDEN), "7H") == (HIDDEN,)
    assert without_all(("7H", HIDDEN), ("7H", "8C")) == ()
    assert dealt_one_at_a_time(("a", "b", "c", "d", "e"), (2, 0), 2, 3) == (("b", "d"), (), ("a", "c"))
