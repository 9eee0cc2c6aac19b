"""The table's decisions: given what happened, an order leads to these events, or to this refusal."""

import itertools

import msgspec
import pytest
from msgspec import Raw

from services.contracts.events.catalogue import decode, encode
from services.contracts.events.table import (
    CommitmentPublished,
    HostPassed,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    SeedGiven,
    SettingsChanged,
    TableClosed,
    TableOpened,
)
from services.lobby.tables.deciding import Refusal, decide, decide_open
from services.lobby.tables.orders import (
    ChangeSettings,
    Finish,
    GiveSeed,
    Join,
    Leave,
    Open,
    Remove,
    Start,
)
from services.lobby.tables.table import Commitment, Seat, Settings, evolve, opened

PUBLIC = Settings(Raw(b"{}"), 3, None, "public", True, None)
PRIVATE = Settings(Raw(b"{}"), 3, None, "private", True, "c0de")
SMALLER = Settings(Raw(b"{}"), 2, 10, "public", True, None)
FIRST = Commitment("m_1", "aa", 1)
SECOND = Commitment("m_2", "bb", 2)


def begin(settings=PUBLIC):
    return [*decide_open(Open("dice-race", 1, settings, FIRST), "ana")]


OPENED = begin()
BEN = PlayerJoined(1, "ben", "-")
CAT = PlayerJoined(2, "cat", "-")
FULL = [*OPENED, BEN, CAT]
PLAYING = [*FULL, MatchRequested("m_1")]
OVER = [*PLAYING, MatchFinished("m_1"), CommitmentPublished("m_2", "bb", 2)]
CLOSED = [*OPENED, PlayerLeft(0, "ana", "left"), TableClosed("empty")]


def fold(events):
    table = opened("t_1", events[0])
    for event in events[1:]:
        table = evolve(table, event)
    return table


def test_opening_commits_before_anybody_sits_down():
    assert [type(event) for event in OPENED] == [TableOpened, CommitmentPublished, PlayerJoined]
    table = fold(OPENED)
    assert (table.version, table.state, table.host, table.commitment) == (3, "open", "ana", FIRST)
    assert table.seats == (Seat("ana"), None, None)


CASES = [
    # given, order, actor, then
    ("any seat", OPENED, Join(), "ben", (BEN,)),
    ("a seat of choice", OPENED, Join(seat=2), "ben", (PlayerJoined(2, "ben", "-"),)),
    ("with a seed", OPENED, Join(seed="s"), "ben", (PlayerJoined(1, "ben", "s"),)),
    ("a seat that became free", [*FULL, PlayerLeft(1, "ben", "left")], Join(), "dan", (PlayerJoined(1, "dan", "-"),)),
    ("a taken seat", OPENED, Join(seat=0), "ben", "seat-taken"),
    ("no such seat", OPENED, Join(seat=3), "ben", "no-such-seat"),
    ("no seat left", FULL, Join(), "dan", "table-full"),
    ("twice", OPENED, Join(), "ana", "already-seated"),
    ("while playing", PLAYING, Join(), "dan", "match-running"),
    ("after the close", CLOSED, Join(), "dan", "table-closed"),
    ("private, no code", begin(PRIVATE), Join(), "ben", "invite-code-wrong"),
    ("private, wrong code", begin(PRIVATE), Join(invite_hash="bad"), "ben", "invite-code-wrong"),
    ("private, right code", begin(PRIVATE), Join(invite_hash="c0de"), "ben", (BEN,)),
    ("leave", [*OPENED, BEN], Leave(), "ben", (PlayerLeft(1, "ben", "left"),)),
    ("the host leaves", FULL, Leave(), "ana", (PlayerLeft(0, "ana", "left"), HostPassed("ben"))),
    ("clockwise", [*FULL, PlayerLeft(1, "ben", "left")], Leave(), "ana",
     (PlayerLeft(0, "ana", "left"), HostPassed("cat"))),
    ("the last leaves", OPENED, Leave(), "ana", (PlayerLeft(0, "ana", "left"), TableClosed("empty"))),
    ("leave without a seat", OPENED, Leave(), "ben", "not-seated"),
    ("leave while playing", PLAYING, Leave(), "ben", "match-running"),
    ("remove", FULL, Remove(1), "ana", (PlayerLeft(1, "ben", "removed"),)),
    ("remove oneself", FULL, Remove(0), "ana", (PlayerLeft(0, "ana", "removed"), HostPassed("ben"))),
    ("remove, not the host", FULL, Remove(2), "ben", "not-host"),
    ("remove nobody", OPENED, Remove(1), "ana", "seat-free"),
    ("remove from nowhere", OPENED, Remove(9), "ana", "no-such-seat"),
    ("remove while playing", PLAYING, Remove(1), "ana", "match-running"),
    ("a seed", [*OPENED, BEN], GiveSeed("x"), "ben", (SeedGiven(1, "x"),)),
    ("a seed without a seat", OPENED, GiveSeed("x"), "ben", "not-seated"),
    ("a seed while playing", PLAYING, GiveSeed("x"), "ben", "match-running"),
    ("start", FULL, Start(), "ana", (MatchRequested("m_1"),)),
    ("start, not the host", FULL, Start(), "ben", "not-host"),
    ("start with a free seat", [*OPENED, BEN], Start(), "ana", "seats-empty"),
    ("start twice", PLAYING, Start(), "ana", "match-running"),
    ("start again", OVER, Start(), "ana", (MatchRequested("m_2"),)),
    ("finish", PLAYING, Finish("m_1", SECOND), "lobby", (MatchFinished("m_1"), CommitmentPublished("m_2", "bb", 2))),
    ("finish for good", PLAYING, Finish("m_1", None), "lobby", (MatchFinished("m_1"), TableClosed("operator"))),
    ("finish twice", OVER, Finish("m_1", SECOND), "lobby", "match-over"),
    ("finish another", PLAYING, Finish("m_0", SECOND), "lobby", "match-over"),
    ("change, not the host", FULL, ChangeSettings(PUBLIC), "ben", "not-host"),
    ("change while playing", PLAYING, ChangeSettings(PUBLIC), "ana", "match-running"),
    ("fewer seats than people", FULL, ChangeSettings(SMALLER), "ana", "seats-in-use"),
    ("fewer seats", OPENED, ChangeSettings(SMALLER), "ana",
     (SettingsChanged(Raw(b"{}"), 2, 10, "public", True, None),)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "order", "actor", "then"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_order_leads_to_events_or_to_a_refusal(given, order, actor, then):
    decision = decide(fold(given), order, actor)
    if isinstance(then, str):
        assert isinstance(decision, Refusal)
        assert decision.code == then
    else:
        assert decision == then
        fold([*given, *then])


def test_a_new_commitment_sets_every_seed_back():
    table = fold([*OPENED, PlayerJoined(1, "ben", "x"), SeedGiven(0, "y"), CAT, MatchRequested("m_1")])
    assert [seat.seed for seat in table.seats] == ["y", "x", "-"]
    table = fold([*OPENED, PlayerJoined(1, "ben", "x"), CAT, *OVER[5:]])
    assert [seat.seed for seat in table.seats] == ["-", "-", "-"]
    assert (table.state, table.match, table.commitment) == ("open", "m_1", SECOND)


def test_more_and_fewer_seats_keep_who_sits_there():
    changed = SettingsChanged(Raw(b"{}"), 5, None, "public", True, None)
    assert fold([*FULL, changed]).seats == (Seat("ana"), Seat("ben"), Seat("cat"), None, None)
    changed = SettingsChanged(Raw(b"{}"), 2, None, "public", True, None)
    assert fold([*OPENED, BEN, changed]).seats == (Seat("ana"), Seat("ben"))


def test_events_survive_being_stored():
    for event in [*OVER, *CLOSED[3:], SeedGiven(0, "x"), HostPassed("ben")]:
        assert decode(event.__struct_config__.tag, event.SCHEMA, encode(event)) == event


def test_whatever_people_do_a_table_stays_in_order():
    """Every order from everybody, three deep, from every kind of table."""
    orders = [
        Join(),
        Join(seat=1),
        Leave(),
        Remove(0),
        Remove(1),
        GiveSeed("z"),
        Start(),
        Finish("m_1", SECOND),
    ]
    people = ["ana", "ben", "cat", "dan"]
    frontier = [fold(events) for events in (OPENED, FULL, PLAYING, OVER, CLOSED)]
    for _ in range(3):
        following = {}
        for table, order, actor in itertools.product(frontier, orders, people):
            decision = decide(table, order, actor)
            if isinstance(decision, Refusal):
                continue
            assert decision
            after = table
            for event in decision:
                after = evolve(after, event)
            seated = [seat.player for seat in after.seats if seat is not None]
            assert len(seated) == len(set(seated))
            assert after.version == table.version + len(decision)
            assert (after.state == "closed") == (not seated)
            assert after.state == "closed" or after.host in seated
            assert after.state != "playing" or len(seated) == len(after.seats)
            following[msgspec.json.encode(after)] = after
        frontier = list(following.values())
