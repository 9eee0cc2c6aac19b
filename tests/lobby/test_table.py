"""The table's decisions: given what happened, an order leads to these events, or to this refusal."""

import pytest
from msgspec import Raw

from services.contracts.events.catalogue import decode, encode
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
    TableOpened,
)
from services.lobby.tables.deciding import Refusal, decide, decide_open
from services.lobby.tables.orders import (
    ChangeSettings,
    Expire,
    Finish,
    GiveSeed,
    Join,
    Leave,
    Open,
    PassHost,
    Remove,
    SeatBot,
    StandUp,
    Start,
    StartQuick,
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
BOT = BotSeated(1, "bot", "sharp")
QUICK = [*decide_open(Open("dice-race", 1, PUBLIC, FIRST, quick_min=2), "ana")]
PAIR = SettingsChanged(Raw(b"{}"), 2, None, "public", True, None)
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
    ("gone for good", FULL, StandUp("cat"), "operator", (PlayerLeft(2, "cat", "left"),)),
    ("the host is gone for good", FULL, StandUp("ana"), "operator", (PlayerLeft(0, "ana", "left"), HostPassed("ben"))),
    ("the last is gone for good", OPENED, StandUp("ana"), "operator",
     (PlayerLeft(0, "ana", "left"), TableClosed("empty"))),
    ("gone, but not from here", OPENED, StandUp("ben"), "operator", "not-seated"),
    ("gone while playing", PLAYING, StandUp("ben"), "operator", "match-running"),
    ("idle", FULL, Expire(), "lobby", (TableClosed("expired"),)),
    ("idle, while playing", PLAYING, Expire(), "lobby", "match-running"),
    ("idle twice", [*FULL, TableClosed("expired")], Expire(), "lobby", "table-closed"),
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
    ("a bot", OPENED, SeatBot("bot", "sharp"), "ana", (BOT,)),
    ("a bot on a seat of choice", OPENED, SeatBot("bot", "casual", 2), "ana", (BotSeated(2, "bot", "casual"),)),
    ("a bot, not by the host", [*OPENED, BEN], SeatBot("bot", "sharp"), "ben", "not-host"),
    ("a bot on a taken seat", [*OPENED, BEN], SeatBot("bot", "sharp", 1), "ana", "seat-taken"),
    ("a bot on no seat", OPENED, SeatBot("bot", "sharp", 3), "ana", "no-such-seat"),
    ("a bot too many", FULL, SeatBot("bot", "sharp"), "ana", "table-full"),
    ("a bot while playing", PLAYING, SeatBot("bot", "sharp"), "ana", "match-running"),
    ("a bot is removed", [*OPENED, BOT], Remove(1), "ana", (PlayerLeft(1, "bot", "removed"),)),
    ("a bot keeps no table open", [*OPENED, BOT], Leave(), "ana", (PlayerLeft(0, "ana", "left"), TableClosed("empty"))),
    ("a bot does not become host", [*OPENED, BOT, CAT], Leave(), "ana",
     (PlayerLeft(0, "ana", "left"), HostPassed("cat"))),
    ("start with a bot", [*OPENED, BOT, CAT], Start(), "ana", (MatchRequested("m_1"),)),
    ("hand over", FULL, PassHost("cat"), "ana", (HostPassed("cat"),)),
    ("hand over, not the host", FULL, PassHost("cat"), "ben", "not-host"),
    ("hand over to oneself", FULL, PassHost("ana"), "ana", "host-unfit"),
    ("hand over to a stranger", FULL, PassHost("dan"), "ana", "host-unfit"),
    ("hand over to a bot", [*OPENED, BOT], PassHost("bot"), "ana", "host-unfit"),
    ("hand over while playing", PLAYING, PassHost("cat"), "ana", "match-running"),
    ("the last seat by quick match", [*OPENED, BEN], Join(starts=True), "cat", (CAT, MatchRequested("m_1"))),
    ("not the last seat", OPENED, Join(starts=True), "ben", (BEN,)),
    ("quick: a seat", QUICK, Join(), "ben", (BEN,)),
    ("quick: the last seat", [*QUICK, BEN], Join(), "cat", (CAT, MatchRequested("m_1"))),
    ("quick: no settings", QUICK, ChangeSettings(SMALLER), "ana", "quick-match-filling"),
    ("quick: no bots", QUICK, SeatBot("bot", "sharp"), "ana", "quick-match-filling"),
    ("quick: nobody is removed", [*QUICK, BEN], Remove(1), "ana", "quick-match-filling"),
    ("quick: no other host", [*QUICK, BEN], PassHost("ben"), "ana", "quick-match-filling"),
    ("quick: not the host", [*QUICK, BEN], Remove(0), "ben", "not-host"),
    ("quick: too few", QUICK, StartQuick(), "lobby", "seats-empty"),
    ("quick: enough", [*QUICK, BEN], StartQuick(), "lobby", (PAIR, MatchRequested("m_1"))),
    ("quick: the host starts", [*QUICK, BEN], Start(), "ana", (PAIR, MatchRequested("m_1"))),
    ("quick: not yet", QUICK, Start(), "ana", "seats-empty"),
    ("quick: no bot is needed", [*QUICK, BEN], StartQuick(("bot",)), "lobby", (PAIR, MatchRequested("m_1"))),
    ("quick: with a bot", QUICK, StartQuick(("bot", "tob")), "lobby",
     (BotSeated(1, "bot", "casual"), PAIR, MatchRequested("m_1"))),
    ("quick: gaps are closed", [*QUICK, BEN, PlayerLeft(0, "ana", "left"), HostPassed("ben")], StartQuick(("bot",)),
     "lobby", (PlayerMoved(1, "ben", 0), BotSeated(1, "bot", "casual"), PAIR, MatchRequested("m_1"))),
    ("quick: twice", [*QUICK, BEN, PAIR, MatchRequested("m_1")], StartQuick(), "lobby", "match-running"),
    ("quick: not at every table", FULL, StartQuick(), "lobby", "unavailable"),
    ("who left the match", PLAYING, Finish("m_1", SECOND, (1,)), "lobby",
     (MatchFinished("m_1"), PlayerLeft(1, "ben", "left"), CommitmentPublished("m_2", "bb", 2))),
    ("the host left the match", PLAYING, Finish("m_1", SECOND, (0, 1)), "lobby",
     (MatchFinished("m_1"), PlayerLeft(0, "ana", "left"), HostPassed("ben"), PlayerLeft(1, "ben", "left"),
      HostPassed("cat"), CommitmentPublished("m_2", "bb", 2))),
    ("all people left", [*OPENED, BOT, CAT, MatchRequested("m_1")], Finish("m_1", None, (0, 2)), "lobby",
     (MatchFinished("m_1"), PlayerLeft(0, "ana", "left"), HostPassed("cat"), PlayerLeft(2, "cat", "left"),
      TableClosed("empty"))),
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


def test_a_table_is_not_rated_once_a_bot_has_sat_there():
    assert fold(OPENED).rated
    assert not fold([*OPENED, BOT]).rated
    assert not fold([*OPENED, BOT, PlayerLeft(1, "bot", "removed")]).rated
    assert fold([*OPENED, BOT]).seats[1] == Seat("bot", "-", "sharp")


def test_who_is_moved_keeps_the_seed():
    table = fold([*QUICK, PlayerJoined(2, "cat", "x"), PlayerMoved(2, "cat", 1)])
    assert table.seats == (Seat("ana"), Seat("cat", "x"), None)


def test_a_table_of_quick_match_is_the_hosts_after_its_first_match():
    table = fold(
        [*QUICK, BEN, PAIR, MatchRequested("m_1"), MatchFinished("m_1"), CommitmentPublished("m_2", "b", 2)]
    )
    assert table.quick_min is None
    assert decide(table, Remove(1), "ana") == (PlayerLeft(1, "ben", "removed"),)


def test_more_and_fewer_seats_keep_who_sits_there():
    changed = SettingsChanged(Raw(b"{}"), 5, None, "public", True, None)
    assert fold([*FULL, changed]).seats == (Seat("ana"), Seat("ben"), Seat("cat"), None, None)
    changed = SettingsChanged(Raw(b"{}"), 2, None, "public", True, None)
    assert fold([*OPENED, BEN, changed]).seats == (Seat("ana"), Seat("ben"))


def test_events_survive_being_stored():
    others = [SeedGiven(0, "x"), HostPassed("ben"), BOT, PlayerMoved(2, "cat", 1), QuickMatchOpened(2)]
    for event in [*OVER, *CLOSED[3:], *others]:
        assert decode(event.__struct_config__.tag, event.SCHEMA, encode(event)) == event
