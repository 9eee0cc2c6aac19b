"""The board's fold: events happened => this is what the board shows."""

import msgspec

from services.contracts.events.match import MatchEnded, MatchVoided, RoundStarted
from services.contracts.events.table import (
    BotSeated,
    CommitmentPublished,
    HostPassed,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    PlayerMoved,
    QuickMatchOpened,
    SeedGiven,
    SettingsChanged,
    TableClosed,
)
from services.projections.board.fold import Playing, fold
from tests.projections.stories import START_MS, Story, a, invented, player

MATCH = a("m", 1)


def settings(**fields):
    given = {
        "options": msgspec.Raw(b"{}"), "seats": 2, "turn_seconds": None, "visibility": "public", "rated": True,
        **fields,
    }  # fmt: skip
    return SettingsChanged(**given)


def board(story):
    return fold({}, story.records)


def test_an_opened_table_has_its_host_in_the_first_seat():
    story = Story()
    table = story.table(seats=3, turn_seconds=30)
    row = board(story)[table]
    assert row.players == (player(1), None, None)
    assert (row.state, row.host, row.turn_seconds, row.rated) == ("open", player(1), 30, True)
    assert row.options == '{"target":9}'
    assert row.opened_at_ms == START_MS + 1000
    assert row.shown
    assert row.shown_position == 1


def test_players_come_and_go():
    story = Story()
    table = story.table()
    story.happen(table, PlayerJoined(1, player(2), "-"))
    assert board(story)[table].players == (player(1), player(2))
    story.happen(table, PlayerLeft(0, player(1), "left"), HostPassed(player(2)))
    row = board(story)[table]
    assert row.players == (None, player(2))
    assert row.host == player(2)
    assert row.shown_position == 4


def test_bots_sit_move_and_go():
    story = Story()
    table = story.table(seats=3)
    story.happen(table, BotSeated(2, player(9), "sharp"))
    row = board(story)[table]
    assert (row.players, row.bots) == ((player(1), None, player(9)), (None, None, "sharp"))
    story.happen(table, PlayerMoved(2, player(9), 1), settings(seats=2))
    row = board(story)[table]
    assert (row.players, row.bots) == ((player(1), player(9)), (None, "sharp"))
    story.happen(table, PlayerLeft(1, player(9), "removed"), PlayerJoined(1, player(2), "-"))
    row = board(story)[table]
    assert (row.players, row.bots) == ((player(1), player(2)), (None, None))


def test_a_table_of_quick_match_is_a_table_like_others():
    story = Story()
    table = story.table()
    story.happen(table, QuickMatchOpened(2))
    assert board(story)[table].shown_position == 1


def test_a_match_is_requested_starts_runs_and_ends():
    story = Story()
    table = story.table()
    story.happen(table, MatchRequested(MATCH))
    row = board(story)[table]
    assert (row.state, row.playing) == ("playing", Playing(MATCH))
    story.start(MATCH, player(1), player(2), table=table)
    story.happen(MATCH, RoundStarted(1, "round", (0, 1)))
    assert board(story)[table].playing == Playing(MATCH, "running", 1, START_MS + 3000)
    story.happen(MATCH, RoundStarted(2, "round", (1, 0)), MatchEnded((1, 2)))
    assert board(story)[table].playing == Playing(MATCH, "ended", 2, START_MS + 3000)
    story.happen(table, MatchFinished(MATCH))
    row = board(story)[table]
    assert (row.state, row.playing) == ("open", None)


def test_a_voided_match_says_so():
    story = Story()
    table = story.table()
    story.happen(table, MatchRequested(MATCH))
    story.start(MATCH, player(1), player(2), table=table)
    story.happen(MATCH, MatchVoided("ruled"))
    assert board(story)[table].playing.state == "voided"


def test_what_comes_late_from_an_old_match_changes_nothing():
    story = Story()
    table = story.table()
    story.happen(table, MatchRequested(MATCH))
    story.happen(table, MatchFinished(MATCH))
    story.happen(table, MatchRequested(a("m", 2)))
    shown = story.position
    story.start(MATCH, player(1), player(2), table=table)
    story.happen(MATCH, MatchEnded((1, 2)))
    row = board(story)[table]
    assert row.playing == Playing(a("m", 2))
    assert row.shown_position == shown


def test_seeds_and_commitments_do_not_show():
    story = Story()
    table = story.table()
    story.happen(table, CommitmentPublished(MATCH, "00" * 32, 1), SeedGiven(0, "abc"))
    assert board(story)[table].shown_position == 1


def test_more_and_fewer_seats():
    story = Story()
    table = story.table()
    story.happen(table, settings(seats=4))
    assert board(story)[table].players == (player(1), None, None, None)
    story.happen(table, settings(seats=3))
    assert board(story)[table].players == (player(1), None, None)


def test_a_private_table_never_leaves_a_trace():
    story = Story()
    table = story.table(visibility="private")
    story.happen(table, PlayerJoined(1, player(2), "-"))
    story.happen(table, TableClosed("empty"))
    row = board(story)[table]
    assert not row.shown
    assert row.shown_position == 0


def test_a_table_that_turns_private_goes_away_once_and_then_is_silent():
    story = Story()
    table = story.table()
    story.happen(table, settings(visibility="private"))
    gone = board(story)[table]
    assert not gone.shown
    assert gone.shown_position == 2
    story.happen(table, PlayerJoined(1, player(2), "-"))
    assert board(story)[table].shown_position == 2
    story.happen(table, settings(visibility="public"))
    back = board(story)[table]
    assert back.shown
    assert back.shown_position == 4


def test_a_closed_table_goes_away():
    story = Story()
    table = story.table()
    story.happen(table, PlayerLeft(0, player(1), "left"), TableClosed("empty"))
    row = board(story)[table]
    assert (row.state, row.shown, row.shown_position) == ("closed", False, 3)


def test_events_of_unknown_tables_and_matches_are_passed_over():
    story = Story()
    story.happen(a("t", 5), PlayerJoined(1, player(2), "-"))
    story.happen(MATCH, RoundStarted(1, "round", (0, 1)))
    assert board(story) == {}


def test_a_fold_in_steps_is_the_fold_of_the_whole():
    story = invented(7)
    whole = fold({}, story.records)
    rows = {}
    for record in story.records:
        rows |= fold(rows, [record])
    assert rows == whole
    assert {row.state for row in whole.values()} == {"open", "playing", "closed"}
