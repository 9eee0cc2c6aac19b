"""Laws about the log: facts fold to the position, survive their encoding, and come out the same everywhere."""

import os
import subprocess
import sys
from random import Random

import msgspec

from services.contracts.events import catalogue
from services.contracts.events.chips import Paid
from services.contracts.events.match import MatchEnded, PlayerEliminated, WentOut
from services.engine.rules import match as matches
from tests.rules.laws import for_tables, law, over_every_rules
from tests.support.matches import TEST_CATALOGUE, only, played_out, random_moves, start
from tests.support.options import as_given
from tests.support.toy_game import Dealt, Played, Swapped

TOY_FACTS = (Dealt, Played, Swapped)


def position(match):
    return msgspec.json.encode((match.status, match.places, match.round, match.ops, match.game))


@law
def test_folding_in_parts_is_folding_the_whole(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        facts = game.facts
        chance = Random(seed)
        cut, second = sorted(chance.randint(1, len(facts)) for _ in range(2))
        match = begun = matches.fold(facts[:cut], only(rules))
        for fact in facts[cut:]:
            match = matches.evolve(match, fact)
        assert position(match) == position(matches.fold(facts, only(rules))) == position(game.match)
        in_runs = matches.evolve_all(matches.evolve_all(begun, facts[cut:second]), facts[second:])
        assert in_runs == match
        assert matches.evolve_all(match, ()) == match

    for_tables(holds, rules, count)


@law
def test_facts_and_moves_survive_their_encoding(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        read = []
        for fact in game.facts:
            body = catalogue.encode(fact)
            if isinstance(fact, TOY_FACTS):  # a toy is not in the catalogue of what is stored
                read.append(msgspec.json.decode(body, type=type(fact)))
            else:
                read.append(catalogue.decode(str(fact.__struct_config__.tag), fact.SCHEMA, body))
            assert catalogue.encode(read[-1]) == body
        assert read == game.facts
        assert position(matches.fold(read, only(rules))) == position(game.match)
        decoder = matches.move_decoder(rules)
        for command in game.commands:
            assert decoder.decode(msgspec.json.encode(command.move)) == command.move

    for_tables(holds, rules, count)


@law
def test_evolve_takes_every_fact_that_the_rules_emit_and_changes_nothing_it_was_given(rules, count):
    def holds(options, seats, seed):
        match = None
        for fact in played_out(rules, options, seats, seed, leave_rate=0.1).facts:
            if match is None:
                match = matches.begin(fact, only(rules))
                continue
            before = position(match)
            after = matches.evolve(match, fact)
            assert position(match) == before
            match = after

    for_tables(holds, rules, count)


@law
def test_the_same_seed_and_moves_give_the_same_log(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        again = start(rules, msgspec.convert(as_given(options), rules.options), seats, seed)
        for command in game.commands:
            assert again.play(command.seat, command.move) == command.facts
        assert [*map(catalogue.encode, again.facts)] == [*map(catalogue.encode, game.facts)]

    for_tables(holds, rules, count)


def test_the_same_seed_gives_the_same_log_whatever_the_hash_seed():
    def digests(hash_seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "tests.support.log_digest"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    told = {digests(hash_seed) for hash_seed in ("0", "1", "4711", "random")}
    assert len(told) == 1
    assert told.pop().count("\n") == len(TEST_CATALOGUE.every_version())


def chips_at(match):
    """All chips of a match: those of the seats, in the pot, and laid as stakes, as far as the game has such."""
    game = match.game
    laid = (pile or 0 for name in ("chips", "stakes") for pile in getattr(game, name, ()))
    return sum(laid) + getattr(game, "pot", 0)


@law
def test_chips_go_nowhere_but_from_hand_to_hand(rules, count):
    """A chip comes from the supply only, and goes only with a player who is eliminated (G7)."""

    def holds(options, seats, seed):
        facts = played_out(rules, options, seats, seed, leave_rate=0.05).facts
        match = matches.begin(facts[0], only(rules))
        if not hasattr(match.game, "chips"):
            return
        for fact in facts[1:]:
            expected = chips_at(match)
            if isinstance(fact, Paid) and fact.source == "supply":
                expected += fact.amount
            if isinstance(fact, PlayerEliminated):
                expected -= match.game.chips[fact.seat]
            match = matches.evolve(match, fact)
            assert chips_at(match) == expected, fact
            on_paper = getattr(options, "points", False)  # balances may go below zero
            assert on_paper or min(match.game.chips) >= 0, fact
            assert getattr(match.game, "pot", 0) >= 0, fact
            if isinstance(fact, PlayerEliminated):
                assert match.game.chips[fact.seat] == 0

    for_tables(holds, rules, count)


@law
def test_a_match_ends_and_its_places_are_places(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed, limit=5_000)
        facts = game.facts
        (ended,) = [fact for fact in facts if isinstance(fact, MatchEnded)]
        assert ended.places == game.match.places
        assert len(ended.places) == seats
        # Sorted, places count up, and equal ones leave the following ones empty (G8).
        ranked = sorted(ended.places)
        assert all(place == ranked.index(place) + 1 for place in ranked)
        for fact in facts:
            if isinstance(fact, PlayerEliminated | WentOut):
                assert ended.places[fact.seat] == fact.place
        assert matches.pending(game.match) is None

    for_tables(holds, rules, count)


@law
def test_no_seat_has_two_places(rules, count):
    def holds(options, seats, seed):
        game = start(rules, options, seats, seed)
        for command in random_moves(game, Random(seed), leave_rate=0.1):
            places = [fact.seat for fact in command.facts if isinstance(fact, PlayerEliminated | WentOut)]
            assert len(places) == len(set(places))
        got = [fact.seat for fact in game.facts if isinstance(fact, PlayerEliminated | WentOut)]
        assert len(got) == len(set(got))

    for_tables(holds, rules, count)


@over_every_rules
def test_the_first_fact_holds_all_that_stays_fixed(rules):
    game = played_out(rules, rules.options(), 2, 1)
    started = game.match.started
    assert (started.game, started.rules_version) == (rules.name, rules.version)
    assert msgspec.json.decode(started.options) == as_given(rules.options()), "every option, with its value"
    assert game.match.started is game.facts[0]
