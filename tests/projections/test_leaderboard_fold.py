"""What counts for the ratings: events happened => a result, or none."""

import pytest

from services.contracts.events.match import MatchEnded, MatchVoided, PlayerEliminated, RoundStarted
from services.projections.leaderboards.fold import applied, evolve
from tests.projections.stories import Story, a, player

MATCH = a("m", 1)
P1, P2, P3 = player(1), player(2), player(3)


def contest(story):
    state = None
    for record in story.records:
        state = evolve(state, record)
    return state


def counted(story):
    state = contest(story)
    return None if state is None else state.places


def test_everybody_acted_and_the_match_ended():
    story = Story()
    end = story.play(MATCH, [P1, P2], [2, 1])
    state = contest(story)
    assert state.places == (2, 1)
    assert state.ended_position == end
    assert state.players == (P1, P2)


def test_a_running_match_has_no_result():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1)
    assert contest(story).places is None
    assert contest(story).settled == 0b01


@pytest.mark.parametrize(
    "fields", [{"rated": False}, {"bot": 1}, {"bot": 0}], ids=["unrated", "a bot", "a bot in the first seat"]
)
def test_what_never_counts(fields):
    story = Story()
    story.play(MATCH, [P1, P2], [1, 2], **fields)
    assert contest(story) is None


def test_one_person_in_two_seats_does_not_count():
    story = Story()
    story.play(MATCH, [P1, P1], [1, 2])
    assert contest(story) is None


def test_voided_before_and_after_the_end():
    story = Story()
    story.start(MATCH, P1, P2)
    story.happen(MATCH, MatchVoided("ruled"))
    assert contest(story) is None
    story = Story()
    story.play(MATCH, [P1, P2], [1, 2])
    story.happen(MATCH, MatchVoided("ruled"))
    state = contest(story)
    assert state.voided_version == story.records[-1].event.version
    assert not state.rated
    assert applied(state).rated  # the writer was just about to apply it
    story.happen(MATCH, MatchVoided("ruled again"))
    assert contest(story) == state


def test_what_was_applied_is_done_with():
    story = Story()
    story.play(MATCH, [P1, P2], [1, 2])
    assert applied(contest(story)) is None


def test_of_two_one_leaves_before_the_first_move():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1)
    story.act(MATCH, P2, PlayerEliminated(1, "left", 2), MatchEnded((1, 2)), move="leave")
    assert counted(story) is None


def test_of_two_one_never_moves_and_runs_out_of_time():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1)
    story.happen(
        MATCH,
        PlayerEliminated(1, "timeout", 2),
        MatchEnded((1, 2)),
        actor="clock",
        cause={"seat": 1, "move": {"type": "expire"}},
    )
    assert counted(story) is None


def test_of_two_one_leaves_after_both_have_moved():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1)
    story.act(MATCH, P2)
    story.act(MATCH, P2, PlayerEliminated(1, "left", 2), MatchEnded((1, 2)), move="leave")
    assert counted(story) == (1, 2)


def test_of_three_one_never_moves_and_the_others_play_on():
    story = Story()
    story.start(MATCH, P1, P2, P3)
    story.happen(MATCH, PlayerEliminated(0, "timeout", 2), actor="clock")
    story.act(MATCH, P2)
    story.act(MATCH, P3, RoundStarted(2, "round", (1, 2)))
    story.act(MATCH, P3, PlayerEliminated(2, "left", 2), MatchEnded((3, 1, 2)), move="leave")
    assert counted(story) == (3, 1, 2)


def test_of_three_two_leave_at_once():
    story = Story()
    story.start(MATCH, P1, P2, P3)
    story.act(MATCH, P1)
    story.act(MATCH, P2, PlayerEliminated(1, "left", 2), move="leave")
    story.act(MATCH, P3, PlayerEliminated(2, "left", 2), MatchEnded((1, 3, 2)), move="leave")
    assert counted(story) is None


def test_one_command_that_eliminates_several_is_one_step():
    story = Story()
    story.start(MATCH, P1, P2, P3)
    story.act(MATCH, P1)
    story.happen(
        MATCH,
        PlayerEliminated(1, "timeout", 2),
        PlayerEliminated(2, "timeout", 2),
        MatchEnded((1, 2, 2)),
        actor="clock",
    )
    assert counted(story) is None


def test_an_instant_win_counts_although_a_turn_never_came():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1, MatchEnded((1, 2)))
    assert counted(story) == (1, 2)


def test_events_that_change_nothing_give_back_the_same_row():
    story = Story()
    story.start(MATCH, P1, P2)
    story.act(MATCH, P1)
    state = contest(story)
    story.act(MATCH, P1)
    assert evolve(state, story.records[-1]) is state
