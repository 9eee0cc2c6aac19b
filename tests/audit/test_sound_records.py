"""What was played and written by the service's own means is sound, whatever the options and the luck."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.engine.audit import audit, audit_lines, describe
from services.engine.record import read_record
from services.engine.replay import Replay
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE, read_options
from services.engine.rules.kernel import Refusal
from services.engine.words import sentence
from tests.audit import hidden_lot
from tests.audit.play import PUBLIC_KEYS, chained, play, record, sit_down
from tests.support.matches import played_out
from tests.support.options import tables

RANDOM_MATCHES = 250
AT_A_TIME = 10


def random_options(rng: random.Random) -> dict[str, object]:
    """Any mix of options of dice-race, as a table would give them."""
    given: dict[str, object] = {"instant_win": rng.random() < 0.5, "first": rng.choice(["lot", 0, 1])}
    if rng.random() < 0.3:
        given["pontoon"] = True
    else:
        given["target"] = rng.choice([9, 12, 15])
    given["stakes"] = rng.choice(["none", "even", "dangerous"])
    if given["stakes"] == "none":
        given["chips_to_win"] = rng.randint(1, 4)
    else:
        given["starting_chips"] = rng.randint(1, 12)
        given["stake"] = rng.randint(1, int(str(given["starting_chips"])))
        given["max_rounds"] = rng.choice([1, 2, 7, 20])
        given["ties"] = rng.choice(["playoff", "share"])
    return given


@pytest.mark.parametrize("first", range(0, RANDOM_MATCHES, AT_A_TIME))
def test_random_matches_of_dice_race_are_sound(first):
    for number in range(first, first + AT_A_TIME):
        assert_sound(random.Random(number))


def assert_sound(rng: random.Random) -> None:
    seats, given = rng.randint(2, 6), random_options(rng)
    rules = CATALOGUE.game("dice-race")
    assert rules is not None
    assert not isinstance(read_options(rules, given, seats), Refusal)
    table = sit_down(
        CATALOGUE, "dice-race", given, seats, seed=rng.randbytes(32), turn_seconds=rng.choice([None, 10])
    )
    events = play(table, rng)
    verdict = audit_lines(record(events), CATALOGUE, PUBLIC_KEYS)
    assert verdict.sound, describe(verdict)
    assert verdict.events == len(events)
    assert verdict.commands == len({event.command for event in events})
    assert verdict.draws == sum(b'"draw"' in event.body for event in events)
    assert verdict.key_known


@pytest.mark.parametrize("rules", CATALOGUE.every_version(), ids=lambda rules: rules.id)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_a_random_match_of_every_game_is_sound_and_replays(rules, data):
    options, seats = data.draw(tables(rules))
    played = played_out(rules, options, seats, data.draw(st.integers(0, 10_000)), leave_rate=0.005)
    events = chained(played)
    verdict = audit_lines(record(events), CATALOGUE)
    assert verdict.sound, describe(verdict)
    replay = Replay(events, CATALOGUE)
    assert {standing.seat: standing.place for standing in replay.standings()} == dict(
        enumerate(played.match.places or ())
    )
    assert all(sentence(step.fact) for step in replay.steps)


@pytest.mark.parametrize("number", range(20))
def test_a_match_that_was_stopped_is_sound(number):
    rng = random.Random(number)
    table = sit_down(CATALOGUE, "dice-race", {"chips_to_win": 20}, 3)
    for _ in range(rng.randint(0, 30)):
        waiting = matches.pending(table.match)
        assert waiting
        table.move(waiting.turn, rng.choice(matches.legal(table.match, waiting.turn)))
    table.void("the operator stopped it")
    verdict = audit_lines(record(table.events), CATALOGUE)
    assert verdict.sound, describe(verdict)


def test_a_match_with_secrets_is_sound():
    table = sit_down(hidden_lot.CATALOGUE, "hidden-lot", {"rounds": 5}, 3)
    events = play(table, random.Random(1), lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()))
    verdict = audit_lines(record(events), hidden_lot.CATALOGUE)
    assert verdict.sound, describe(verdict)
    assert verdict.seals == 5


def test_a_record_read_back_gives_the_same_verdict():
    lines = record(play(sit_down(CATALOGUE, "dice-race"), random.Random(3)))
    read = read_record(lines)
    assert audit(read, CATALOGUE) == audit_lines(lines, CATALOGUE)


def test_the_verdict_says_when_nobody_but_the_record_knows_the_key():
    lines = record(play(sit_down(CATALOGUE, "dice-race"), random.Random(3)))
    known, unknown = audit_lines(lines, CATALOGUE, PUBLIC_KEYS), audit_lines(lines, CATALOGUE)
    assert known.sound
    assert unknown.sound
    assert "known from the record alone" in describe(unknown)
    assert "known from the record alone" not in describe(known)
    assert describe(known).startswith("Sound: ")
