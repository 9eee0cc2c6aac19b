"""Marks and the table of records: by hand, in any pages, and when a match is taken back."""

from random import Random

import pytest

from services.contracts.events.cards import (
    Lapsed,
    MacaoCaught,
    PenaltyCancelled,
    PenaltyStacked,
    PenaltyTaken,
)
from services.contracts.events.chips import Paid
from services.contracts.events.dice import Busted
from services.contracts.events.match import MatchEnded, MatchVoided, PlayerEliminated, RoundEnded
from services.projections.records import tables
from services.projections.records.fold import Mark, evolve
from services.projections.records.kinds import KINDS
from services.projections.records.tables import Records
from tests.projections.stories import Story, a, player
from tests.projections.support import always, contents, feed, sizes_of

P1, P2, P3 = (player(number) for number in range(1, 4))


def marks(*facts, **fields):
    """Return the marks of a match in which these happen, each in a command of its own, from version 2 on."""
    story = Story()
    story.start(a("m", 1), P1, P2, P3, **fields)
    for fact in facts:
        story.happen(a("m", 1), fact)
    match = None
    for recorded in story.records:
        match = evolve(match, recorded)
    return None if match is None else match.marks


def test_a_chain_grows_until_it_is_taken():
    found = marks(
        PenaltyStacked(0, 2, 2), PenaltyStacked(1, 4, 6), PenaltyStacked(2, 2, 8), PenaltyTaken(0, 8, ("??",) * 8),
        PenaltyStacked(1, 20, 20), PenaltyStacked(2, 2, 22), PenaltyCancelled(0, 22),
        PenaltyStacked(0, 2, 2), PenaltyStacked(1, 2, 4), Lapsed(2, 0, 1), PenaltyStacked(2, 2, 6), Lapsed(0, 6, 0),
        PenaltyStacked(0, 2, 2),
    )  # fmt: skip
    # The chain of three by seat 2 at version 4 came first; the one after the lapse of turns is as long, and later.
    assert found == {"longest-chain": Mark(3, 4, 2), "largest-penalty": Mark(22, 7, 2)}


def test_one_players_busts_and_catches_are_counted_apart_from_the_others():
    found = marks(
        Busted(0), Busted(1), Busted(1), Busted(0), Busted(2), MacaoCaught(0, 1, ()), MacaoCaught(2, 1, ())
    )
    assert found == {"most-busts": Mark(2, 4, 1), "most-caught-out": Mark(2, 8, 1)}


def test_rounds_payments_and_the_clock():
    found = marks(
        RoundEnded(1, ()), Paid(1, 3, "pot"), RoundEnded(2, (1,)), Paid(0, 3, "pot"), MatchEnded((1, 2, 3))
    )
    assert found == {
        "most-rounds": Mark(2, 4, None),
        "largest-payment": Mark(3, 3, 1),
        "fastest-match": Mark(5000, 6, None),  # a command a second
    }


def test_a_match_that_lost_a_player_is_not_the_fastest():
    found = marks(PlayerEliminated(0, "left", 3), Busted(1), MatchEnded((3, 1, 2)))
    assert found == {"most-busts": Mark(1, 3, 1)}


@pytest.mark.parametrize(
    "fields", [{"visibility": "private"}, {"rated": False}, {"bot": 1}], ids=["private", "unrated", "a bot"]
)
def test_matches_that_set_no_records(fields):
    assert marks(Busted(0), MatchEnded((1, 2, 3)), **fields) is None


def busty(story, number, busts, **fields):
    """Play a match with so many busts."""
    match = a("m", number)
    story.start(match, P1, P2, **fields)
    for _ in range(busts):
        story.happen(match, Busted(0))
    story.happen(match, MatchEnded((2, 1)))
    return match


async def board(connection, kind="most-busts", game="dice-race", limit=50):
    found = await Records().best(connection, KINDS, game, limit)
    return [(line.value, line.match) for line in found[kind]]


async def test_ties_go_to_the_first_and_a_voided_match_leaves(connection):
    story = Story()
    first, second, third, best = (busty(story, at, busts) for at, busts in ((1, 2), (2, 2), (3, 1), (4, 3)))
    other = busty(story, 5, 2, game="dice-bank")
    await feed(connection, Records(), story.records, always(4))
    assert await board(connection) == [(3, best), (2, first), (2, second), (1, third)]
    assert await board(connection, game=None) == [(3, best), (2, first), (2, second), (2, other), (1, third)]
    assert await board(connection, limit=2) == [(3, best), (2, first)]
    told = len(story.records)
    story.happen(best, MatchVoided("ruled"))
    story.happen(first, MatchVoided("ruled"))
    await feed(connection, Records(), story.records[told:], always(4))
    assert await board(connection) == [(2, second), (1, third)]
    (line,) = (await Records().best(connection, ["most-busts"], "dice-race", 1))["most-busts"]
    assert (line.version, line.seat, line.players) == (3, 0, (P1, P2))


@pytest.mark.parametrize("seed", range(3))
async def test_the_table_is_the_same_in_any_pages_and_keeps_only_the_best(connection, seed, monkeypatch):
    monkeypatch.setattr(tables, "KEPT", 6)
    random = Random(seed)
    story = Story()
    running, ended, voided = {}, [], set()
    for number in range(60):
        match = a("m", 100 + number)
        story.start(match, P1, P2, game=random.choice(["dice-race", "dice-bank"]))
        running[match] = random.randint(0, 12)
        while running and random.random() < 0.75:
            at = random.choice(list(running))
            for _ in range(running.pop(at)):
                story.happen(at, Busted(random.randint(0, 1)))
            story.happen(
                at, *([PlayerEliminated(0, "left", 2)] if random.random() < 0.2 else []), MatchEnded((1, 2))
            )
            ended.append(at)
        if ended and random.random() < 0.3:
            voided.add(match := random.choice(ended))
            story.happen(match, MatchVoided("ruled"))
    records = Records()
    seen = set()
    for sizes in (always(1), always(len(story.records)), sizes_of(random), sizes_of(random)):
        await records.clear(connection)
        await feed(connection, records, story.records, sizes)
        seen.add(await contents(connection, records))
    assert len(seen) == 1
    for game in ("dice-race", "dice-bank"):
        held = await board(connection, game=game)
        assert 0 < len(held) <= 6
        assert not voided & {match for _, match in held}
        assert [value for value, _ in held] == sorted((value for value, _ in held), reverse=True)
