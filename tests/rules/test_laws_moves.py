"""Laws about moves: what is legal, what is refused, and what follows."""

from random import Random

import msgspec

from services.contracts.problems import PROBLEMS
from services.engine.rules import match as matches
from services.engine.rules.kernel import AnyRules, Expire, Leave, Refusal
from tests.rules import clauses
from tests.rules.laws import for_tables, law
from tests.support import toy_game
from tests.support.matches import Recorded, conceivable_moves, covers, only, random_moves, start
from tests.support.scripted_chance import ScriptedChance

CLAUSES = clauses.all_clauses() | toy_game.CLAUSES


LONG = 60
"""From so many moves on, only every fourth position of a match is looked at."""


def hold_at_every_position(rules: AnyRules, count: int, check) -> None:
    """Check the positions before the moves of random matches, and the one at the end."""

    def over_match(options, seats, seed):
        game = start(rules, options, seats, seed)
        rng = Random(seed)
        check(game, rng)
        for number, _ in enumerate(random_moves(game, rng, leave_rate=0.03)):
            if number < LONG or number % 4 == 0 or game.match.over:
                check(game, rng)

    for_tables(over_match, rules, count)


@law
def test_legal_is_what_is_accepted(rules, count):
    def check(game: Recorded, rng: Random):
        for move in [*conceivable_moves(game, rng, 12), Leave(), Expire()]:
            for seat in range(game.seats):
                listed = any(covers(entry, move) for entry in matches.legal(game.match, seat))
                waiting = matches.pending(game.match)
                if isinstance(move, Leave):  # open to everybody still in, and therefore not listed
                    assert not listed
                    listed = waiting is not None and seat not in game.out
                elif isinstance(move, Expire):  # of the clock, which runs for the seat on turn
                    assert not listed
                    listed = waiting is not None and seat == waiting.turn
                outcome = matches.decide(game.match, seat, move, game.keys)
                assert isinstance(outcome, Refusal) is not listed, (seat, move, outcome)

    hold_at_every_position(rules, count, check)


@law
def test_a_refusal_is_in_the_catalogue_cites_a_clause_and_changes_nothing(rules, count):
    seen = set()

    def check(game: Recorded, rng: Random):
        before = msgspec.json.encode(game.match.game)
        for move in [*conceivable_moves(game, rng, 12), Leave(), Expire()]:
            for seat in range(game.seats):
                # No chance is to be had here: a refusal must not have drawn any.
                if game.match.over:
                    outcome = matches.decide(game.match, seat, move, game.keys)
                else:
                    try:
                        outcome = rules.decide(game.match.game, seat, move, ScriptedChance())
                    except AssertionError:
                        continue
                if isinstance(outcome, Refusal):
                    seen.add(outcome.code)
                    assert outcome.code in PROBLEMS
                    assert outcome.clause in CLAUSES
                    assert outcome == matches.decide(game.match, seat, move, game.keys)
        assert msgspec.json.encode(game.match.game) == before

    hold_at_every_position(rules, count, check)
    assert {"match-over", "already-out", "not-your-turn"} <= seen


@law
def test_every_accepted_move_leaves_a_fact(rules, count):
    def check(game: Recorded, rng: Random):
        if game.commands:
            assert game.commands[-1].facts

    hold_at_every_position(rules, count, check)


@law
def test_pending_and_legal_agree(rules, count):
    def check(game: Recorded, rng: Random):
        waiting = matches.pending(game.match)
        may_act = tuple(seat for seat in range(game.seats) if matches.legal(game.match, seat))
        if waiting is None:
            assert game.match.over
            assert may_act == ()
        else:
            assert waiting.may_act == may_act
            assert waiting.turn in may_act
            assert waiting.turn not in game.out

    hold_at_every_position(rules, count, check)


@law
def test_legal_moves_come_once_and_in_a_stable_order(rules, count):
    def check(game: Recorded, rng: Random):
        if rng.random() > 0.1:
            return
        again = matches.fold(game.facts, only(rules))
        for seat in range(game.seats):
            listed = matches.legal(game.match, seat)
            assert listed == matches.legal(again, seat)
            words = [msgspec.json.encode(entry) for entry in listed]
            assert len(words) == len(set(words))

    hold_at_every_position(rules, count, check)
