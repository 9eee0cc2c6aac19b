"""What is special about the games against a bank, and no law of all games."""

import json
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.contracts.events.bank import (
    FirstCardShown,
    PacksShuffled,
    RoundSatOut,
    RoundSkipped,
    StakeTaken,
)
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted
from services.contracts.events.match import MatchEnded, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake
from services.engine.rules.games import cards_bank, dice_bank
from services.engine.rules.games.cards_bank import CARDS_BANK
from services.engine.rules.games.dice_bank import DICE_BANK
from services.engine.rules.kernel import SPECTATOR, Leave, Refusal
from tests.rules.golden import FILES
from tests.support.matches import only, played_out, random_moves, start
from tests.support.options import tables
from tests.support.scripted_chance import ScriptedChance

BOTH = pytest.mark.parametrize("rules", [DICE_BANK, CARDS_BANK], ids=lambda rules: rules.id)


def for_tables(rules, count):
    """Like the laws, with more players."""

    def law(holds):
        @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(tables(rules, seats_max=9), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.03, 0.2]))
        def each(table, seed, leave_rate):
            options, seats = table
            holds(options, seats, played_out(rules, options, seats, seed, leave_rate=leave_rate))

        return each

    return law


@BOTH
def test_the_bank_can_always_pay_and_so_can_players(rules):
    """What the cover formulas are for: with chips, nobody is ever below zero, whoever stakes as much as possible."""

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(tables(rules, seats_max=9), st.integers(0, 2**32 - 1))
    def holds(table, seed):
        options, seats = table
        game, rng = start(rules, options, seats, seed), Random(seed)
        while (waiting := matches.pending(game.match)) is not None:
            move = rng.choice(matches.legal(game.match, waiting.turn))
            if hasattr(move, "max"):
                assert 1 <= options.min_stake <= move.min <= move.max <= options.max_stake
                move = Stake(move.max)
            assert not isinstance(game.play(waiting.turn, move), Refusal)
            assert options.points or min(game.match.game.chips) >= 0

    holds()


@BOTH
def test_what_the_bank_pays_and_takes_is_what_was_staked(rules):
    @for_tables(rules, 150)
    def holds(options, seats, game):
        stakes: dict[int, int] = {}
        for fact in game.facts:
            if isinstance(fact, RoundStarted):
                stakes = {}
            elif isinstance(fact, Staked):
                stakes[fact.seat] = fact.amount
            elif isinstance(fact, Paid):
                assert fact.source == "bank"
                times, rest = divmod(fact.amount, stakes[fact.seat])
                assert rest == 0
                assert times in (1, 2, 3)
            elif isinstance(fact, StakeTaken):
                assert fact.amount == stakes.pop(fact.seat)
                assert fact.beyond in (0, fact.amount, 2 * fact.amount)

    holds()


@BOTH
def test_every_round_that_begins_ends_with_nothing_on_the_table(rules):
    @for_tables(rules, 150)
    def holds(options, seats, game):
        match = matches.begin(game.facts[0], only(rules))
        running = False
        for fact in game.facts[1:]:
            match = matches.evolve(match, fact)
            if isinstance(fact, RoundStarted):
                assert not running
                running = True
            elif isinstance(fact, RoundEnded):
                assert running
                assert not any(match.game.stakes)
                running = False
            elif isinstance(fact, MatchEnded):
                assert not running

    holds()


@BOTH
def test_with_points_nobody_sits_out_and_nobody_goes_out(rules):
    @for_tables(rules, 150)
    def holds(options, seats, game):
        if options.points:
            assert not any(isinstance(fact, RoundSatOut | WentOut) for fact in game.facts)

    holds()


def test_in_laps_everybody_who_stays_holds_the_bank_as_often():
    @for_tables(DICE_BANK, 200)
    def holds(options, seats, game):
        rounds = [fact for fact in game.facts if isinstance(fact, RoundStarted | RoundSkipped)]
        assert [fact.round for fact in rounds] == list(range(1, len(rounds) + 1))
        banks = [fact.bank if isinstance(fact, RoundSkipped) else fact.order[-1] for fact in rounds]
        if options.rounds is None:
            assert all((before + 1) % seats == after for before, after in pairwise(banks))
            if sum(place > 0 for place in game.match.game.ledger.places) < seats - 1:
                assert [banks.count(seat) for seat in range(seats)] == [options.laps] * seats
        else:
            assert not any(isinstance(fact, RoundSkipped) for fact in rounds)
            assert len(rounds) <= options.rounds

    holds()


@pytest.mark.parametrize("length", [{"rounds": 1000}, {"laps": 100}])
def test_hundreds_of_rounds_that_nobody_can_play_are_counted_in_one_go(length):
    """DB-3.7: the chips that are left cover no round, and the rest of the match passes without a command."""
    options = dice_bank.Options(first_bank=0, starting_chips=2, exact_pays_double=True, **length)
    roll, stand = dice_bank.Roll(), dice_bank.Stand()
    # Seat 0 wins from 1 as the bank and from 2 as a player, and leaves as the bank: the others have one chip each.
    moves = [(1, 4), (0, 6), (0, 6), (2, 5)]
    chance = ScriptedChance(("dice", (face,)) for _, face in moves)
    state = DICE_BANK.initial(options, 3)
    facts = DICE_BANK.start(state, chance)
    for seat, move in [*((seat, move) for seat, _ in moves for move in (roll, stand)), (0, Leave())]:
        for fact in facts:
            state = DICE_BANK.evolve(state, fact)
        facts = DICE_BANK.decide(state, seat, move, chance)
        assert not isinstance(facts, Refusal)
    assert sum(isinstance(fact, RoundStarted) for fact in facts) > 190
    for fact in facts:
        state = DICE_BANK.evolve(state, fact)
    assert DICE_BANK.pending(state).places == (3, 1, 1)
    assert state.chips == (0, 1, 1)
    assert state.round == state.rounds_in_all


def test_a_match_can_be_over_before_anybody_has_moved():
    """A fixed stake and naturals: nobody has anything to decide, and the opening tells the whole match (CB-3.9)."""
    options = cards_bank.Options(max_stake=1, starting_chips=3, coups=1)
    games = [start(CARDS_BANK, options, 2, seed) for seed in range(40)]
    over = [game for game in games if game.match.over]
    assert over
    for game in over:
        assert [str(fact.__struct_config__.tag) for fact in game.facts[-2:]] == [
            "match-ended",
            "seed-revealed",
        ]
        assert game.match.places in {(1, 1), (1, 2), (2, 1)}
        assert all(isinstance(game.play(seat, Leave()), Refusal) for seat in (0, 1))


def test_every_coup_shuffles_all_packs_before_anything_else():
    @for_tables(CARDS_BANK, 100)
    def holds(options, seats, game):
        facts = [fact for fact in game.facts if not fact.__struct_config__.tag.startswith("chance-")]
        for before, fact in pairwise(facts):
            assert isinstance(before, RoundStarted) == isinstance(fact, PacksShuffled)
            if isinstance(fact, PacksShuffled):
                assert len(fact.draw.cards) == 52 * options.decks
                assert sorted(fact.draw.result) == sorted(fact.draw.cards)

    holds()


def test_a_spectator_reads_no_card_that_was_not_shown():
    """First cards only when they are shown, drawn cards, and nothing of the shuffle (CB-3.1 to CB-3.7)."""

    @for_tables(CARDS_BANK, 100)
    def holds(options, seats, game):
        for fact in game.facts:
            told = msgspec.json.encode(matches.redact(CARDS_BANK, fact, SPECTATOR)).decode()
            cards = {card for card in cards_bank.PACK if f'"{card}"' in told}
            card = getattr(fact, "card", None)
            kind = str(fact.__struct_config__.tag)
            assert cards == ({card} if kind in ("first-card-shown", "second-card-drawn") else set()), told

    holds()


def test_first_cards_are_shown_for_the_reasons_there_are():
    """A natural, a bust, the comparison; never of somebody who has left, and never twice."""

    @for_tables(CARDS_BANK, 150)
    def holds(options, seats, game):
        shown: set[int] = set()
        gone: set[int] = set()
        for fact in game.facts:
            if isinstance(fact, RoundStarted):
                shown = set()
            elif isinstance(fact, PlayerEliminated):
                gone.add(fact.seat)
            elif isinstance(fact, FirstCardShown):
                assert fact.seat not in shown
                assert fact.seat not in gone
                shown.add(fact.seat)
            elif isinstance(fact, Busted):
                assert fact.seat in shown

    holds()


def record(name):
    return [json.loads(line) for line in (FILES / f"{name}.ndjson").read_bytes().splitlines()]


def has(name, **fields):
    return any(all(line.get(key) == value for key, value in fields.items()) for line in record(name))


def banks_that(name, kind):
    """The facts of a type that are about whoever is the bank at that moment."""
    bank, found = None, []
    for line in record(name):
        if line.get("type") == "round-started":
            bank = line["order"][-1]
        elif line.get("type") == kind and line["seat"] == bank:
            found.append(line)
    return found


def test_the_golden_records_show_what_their_names_say():
    assert has("dice-bank@1-chosen-stakes", type="staked", amount=5)
    assert any(line["amount"] == 8 for line in record("dice-bank@1-double") if line.get("type") == "paid")
    assert any(
        line["total"] > 21 for line in record("dice-bank@1-twenty-one") if line.get("type") == "rolled"
    )
    assert has("dice-bank@1-sitting-out", type="round-sat-out")
    assert has("dice-bank@1-sitting-out", type="went-out")
    kinds = [line.get("type") for line in record("dice-bank@1-not-rolled")]
    assert "round-sat-out,round-ended" in ",".join(map(str, kinds))
    assert not has("dice-bank@1-rounds", type="round-skipped")
    for name in ("dice-bank@1-eliminations", "cards-bank@1-eliminations"):
        assert has(name, type="player-eliminated", reason="left")
        assert has(name, type="player-eliminated", reason="timeout")
    assert has("dice-bank@1-eliminations", type="round-skipped")
    for name in ("dice-bank@1-bank-leaves", "cards-bank@1-bank-leaves"):
        assert banks_that(name, "player-eliminated")
    assert has("cards-bank@1-bank-leaves", type="bank-passed")
    assert not has("cards-bank@1-bank-stays", type="bank-passed")
    assert banks_that("cards-bank@1-bank-broke", "went-out")
    assert any(
        len(line["draw"]["cards"]) == 104
        for line in record("cards-bank@1-two-packs")
        if "draw" in line and "cards" in line["draw"]
    )
    assert has("cards-bank@1-naturals", type="stake-taken", beyond=2)
    assert has("cards-bank@1-naturals", type="stake-taken", beyond=4)
    for name in ("dice-bank@1-voided", "cards-bank@1-voided"):
        assert has(name, type="match-voided")


@BOTH
def test_matches_of_the_smallest_and_of_the_largest_table_end(rules):
    for seats in (rules.seats_min, rules.seats_max):
        options = rules.options(decks=2) if rules is CARDS_BANK else rules.options()
        game = start(rules, options, seats, seats)
        assert sum(1 for _ in random_moves(game, Random(seats), leave_rate=0.0)) < 20_000
        assert game.match.over
