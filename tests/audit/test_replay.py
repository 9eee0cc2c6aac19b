"""A match played back: every position, for everybody who may look."""

import random
from itertools import pairwise

import pytest

from services.contracts.events.catalogue import fact_of
from services.engine.replay import Replay, ReplayError
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import AUDITOR, SPECTATOR
from tests.audit import hidden_lot
from tests.audit.play import play, sit_down

TABLE = sit_down(CATALOGUE, "dice-race", {"stakes": "dangerous", "max_rounds": 6}, 4)
EVENTS = play(TABLE, random.Random(11))
REPLAY = Replay(EVENTS, CATALOGUE)


def test_every_position_is_that_of_the_fold():
    for version in range(1, len(EVENTS) + 1):
        folded = matches.fold([fact_of(event) for event in EVENTS[:version]], CATALOGUE)
        assert REPLAY.at(version).match == folded
        assert REPLAY.view(version, 0) == matches.observe(folded, 0)


def test_stepping_stays_inside_the_match():
    assert REPLAY.back(1) == 1
    assert REPLAY.forward(1) == 2
    assert REPLAY.forward(REPLAY.last) == REPLAY.last == len(EVENTS)
    for version in (0, -1, len(EVENTS) + 1):
        with pytest.raises(LookupError):
            REPLAY.at(version)


def test_what_was_played_is_among_what_could_have_been():
    for event in EVENTS:
        if event.cause:
            (choice,) = REPLAY.choices(event.version - 1)
            assert b'"seat":%d' % choice.seat in event.cause


def test_nothing_can_be_played_in_the_middle_of_a_command_or_after_the_end():
    for event, after in pairwise(EVENTS):
        assert bool(REPLAY.choices(event.version)) == (event.command != after.command)
    assert REPLAY.choices(REPLAY.last) == ()


def test_the_standings_are_those_of_the_match():
    places = TABLE.match.places
    assert places is not None
    standings = REPLAY.standings()
    assert [standing.place for standing in standings] == sorted(places)
    assert all(places[standing.seat] == standing.place for standing in standings)


def test_a_match_that_does_not_count_has_no_standings():
    table = sit_down(CATALOGUE, "dice-race")
    table.void("stopped")
    assert Replay(table.events, CATALOGUE).standings() == ()


def test_a_viewer_sees_the_past_as_it_was_seen_then():
    events = play(
        sit_down(hidden_lot.CATALOGUE, "hidden-lot"),
        random.Random(1),
        lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()),
    )
    replay = Replay(events, hidden_lot.CATALOGUE)
    dealt = next(event.version for event in events if event.type == "lot-drawn")
    for viewer in (0, SPECTATOR):
        assert replay.view(dealt, viewer) == hidden_lot.View((0, 0), hidden_lot.HIDDEN)
        assert getattr(replay.fact(dealt, viewer), "seat", None) == hidden_lot.HIDDEN
    assert getattr(replay.fact(dealt, AUDITOR), "seat", None) in {0, 1}


@pytest.mark.parametrize("events", [[], EVENTS[1:], EVENTS[:3] + EVENTS[4:], EVENTS[::-1]])
def test_what_is_no_match_is_not_played_back(events):
    with pytest.raises(ReplayError):
        Replay(events, CATALOGUE)
