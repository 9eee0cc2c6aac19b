"""The clock, kept again from the record (G10): too early, too late."""

import pytest
from msgspec.structs import replace

from services.engine.audit import Verdict, audit_events, audit_lines, describe
from services.engine.audit.clocks import GRACE_MS
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.games.dice_race import Roll
from services.engine.rules.kernel import Expire, Leave
from tests.audit.play import Table, rechained, record, sit_down

TURN_MS = 10_000


def table(seats: int = 2, turn_seconds: int | None = 10) -> Table:
    return sit_down(CATALOGUE, "dice-race", {"first": 0, "target": 15}, seats, turn_seconds=turn_seconds)


def expired(early_ms: int = 0) -> Table:
    """A match in which a clock ran out, so long before its time."""
    played = table()
    played.move(0, Roll())
    # The table waits 1.5 s after each command, and the time of the turn before an expiry.
    played.at_ms -= 1500 + early_ms
    played.move(0, Expire())
    return played


def late(by_ms: int) -> Table:
    """A match with a move that came so long after its time."""
    played = table()
    played.at_ms += TURN_MS - 1500 + by_ms
    played.move(0, Roll())
    played.move(0, Leave())
    return played


def verdict_of(played: Table, outages: list[tuple[int, int]] | None = None) -> Verdict:
    return audit_events(played.events, played.events[-1].head, CATALOGUE, outages)


def test_who_runs_out_of_time_runs_out_when_it_is_over():
    assert verdict_of(expired()).sound
    early = verdict_of(expired(early_ms=1))
    assert not early.sound
    (finding,) = early.findings
    assert (finding.check, finding.clause) == ("time", "G10")
    assert "0.001 s before the player's time was up" in finding.text


def test_time_in_which_the_service_was_down_is_given_back():
    played = expired()
    end_ms = played.events[-1].at_ms
    down = [(end_ms - 5000, end_ms - 1000)]
    assert not verdict_of(played, down).sound, "4 s of outage were not given back"
    played = expired(early_ms=-4000)
    end_ms = played.events[-1].at_ms
    assert verdict_of(played, [(end_ms - 5000, end_ms - 1000)]).sound


def test_a_late_move_is_a_finding_where_outages_are_known_and_else_a_note():
    played = late(GRACE_MS + 500)
    (finding,) = verdict_of(played, []).findings
    assert (finding.check, finding.clause) == ("time", "G10")
    assert "10.5 s after the 10 s" in finding.text
    offline = audit_lines(record(played.events), CATALOGUE)
    assert offline.sound
    (note,) = offline.notes
    assert (note.version, note.clause) == (finding.version, "G10")
    assert "which a record does not say" in note.text
    assert f"Note on version {note.version}: this move came 10.5 s" in describe(offline)


def test_a_late_move_is_right_where_the_service_was_down_or_a_little_slow():
    assert verdict_of(late(GRACE_MS), []) == verdict_of(late(GRACE_MS))
    assert verdict_of(late(GRACE_MS), []).sound
    played = late(60_000)
    at_ms = played.events[-1].at_ms - 1500
    assert verdict_of(played, [(at_ms - 55_000, at_ms - 1000)]).sound
    assert not verdict_of(played, [(at_ms - 45_000, at_ms - 1000)]).sound


@pytest.mark.parametrize("turn_seconds", [None, 10])
def test_leaving_is_free_at_any_time(turn_seconds):
    played = table(3, turn_seconds)
    played.at_ms += 100 * TURN_MS
    played.move(1, Leave())
    played.move(0, Leave())
    assert verdict_of(played, []).sound


def test_a_record_with_a_moved_time_is_found_by_its_clock_even_if_it_is_chained_anew():
    events = expired().events
    at = next(at for at, event in enumerate(events) if event.actor == "clock")
    hurried = [*events[:at], *(replace(event, at_ms=event.at_ms - 3000) for event in events[at:])]
    verdict = audit_lines(record(rechained(hurried)), CATALOGUE)
    assert verdict.first_bad_version == at + 1
    assert verdict.findings[0].check == "time"
