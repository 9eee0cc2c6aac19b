"""Every event has clauses that are there, every position has words, and nothing in them is hidden from the reader."""

import re

import pytest

from services.engine.disputes.clauses import _OF_GAME, clauses_of, quoted
from services.engine.disputes.speech import Speech
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import SPECTATOR
from services.engine.words.positions import position
from tests.rules.clauses import all_clauses
from tests.support.matches import played_out

RULES = CATALOGUE.newest()


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_every_fact_has_clauses_with_a_text(rules):
    for seed in range(3):
        for fact in played_out(rules, rules.options(), 3, seed, leave_rate=0.02).facts:
            numbers = clauses_of(rules.name, fact)
            assert numbers, fact
            for clause in quoted(rules.name, numbers):
                assert len(clause.text) > 20 and "without the texts" not in clause.text


def test_the_clauses_named_are_those_of_the_rules():
    named = {number for game in _OF_GAME.values() for numbers in game.values() for number in numbers}
    assert named <= all_clauses()


def test_a_clause_is_quoted_whole_and_once():
    (clause, general) = quoted("dice-race", ["DR-2.3", "G13", "DR-2.3"])
    assert clause.text.startswith("What is rolled is added") and clause.text.endswith("in the round.")
    assert general.number == "G13"
    (table,) = quoted("dice-race", ["DR-1.3"])
    assert "\n| option | values |" in table.text and "every combination is allowed." in table.text
    (unknown,) = quoted("dice-race", ["DR-9.9"])
    assert "without the texts" in unknown.text


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_positions_are_told_and_tell_a_seat_nothing_that_its_view_does_not(rules):
    played = played_out(rules, rules.options(), 3, 5, leave_rate=0)
    match = matches.fold(played.facts[:1], CATALOGUE)
    for fact in played.facts[1:400]:
        match = matches.evolve(match, fact)
        if match.over:
            break
        for viewer in (0, 1, SPECTATOR):
            view = rules.observe(match.game, viewer)
            told = position(view)
            assert len(told) >= len(match.started.seats)
            assert all(sentence == sentence.strip() and "??" not in sentence for sentence in told)
            for seat, player in enumerate(view.players):
                if getattr(player, "hand", "no hands here") is None and player.place is None:
                    own = next(each for each in told if each.startswith(f"Seat {seat} had"))
                    assert not re.search("[♣♦♥♠]|joker", own), own


def test_names_are_told_apart():
    started = played_out(RULES[0], RULES[0].options(), 3, 1).match.started
    players = [seat.player for seat in started.seats]
    speech = Speech(started, {players[0]: "Anna", players[1]: "anna"})
    assert [speech.name(seat) for seat in range(3)] == ["Anna (seat 0)", "anna (seat 1)", "Seat 2"]
    assert (speech.who(players[2]), speech.who("clock"), speech.who("p_x")) == (
        "Seat 2", "the clock", "somebody outside the match",
    )  # fmt: skip
