"""What is counted of each seat."""

import pytest

from services.contracts.events.bank import BankPassed, StakeReturned, StakeTaken
from services.contracts.events.cards import (
    Drew,
    HandCounted,
    MacaoCalled,
    MacaoCaught,
    MacaoFined,
    PenaltyStacked,
    PenaltyTaken,
)
from services.contracts.events.chance import LotDraw
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted
from services.contracts.events.match import LotDrawn, MatchVoided
from services.engine.rules.catalogue import CATALOGUE, read_options
from services.projections.history.fold import evolve
from services.projections.history.tables import History
from services.projections.history.tally import CHIPS, FIGURES
from tests.projections.stories import Story, a, player
from tests.projections.support import always, feed
from tests.support.matches import played_out

P1, P2, P3 = (player(number) for number in range(1, 4))


def figures(*facts):
    """Return by seat what is not zero after these facts."""
    story = Story()
    story.start(a("m", 1), P1, P2, P3)
    story.happen(a("m", 1), *facts)
    row = None
    for recorded in story.records:
        row = evolve(row, recorded)
    width = len(FIGURES)
    return [
        {name: value for name, value in zip(FIGURES, row.tally[at * width :], strict=False) if value}
        for at in range(3)
    ]


@pytest.mark.parametrize(
    ("facts", "counted"),
    [
        ((Busted(1), Busted(1), Busted(0)), [{"busts": 1}, {"busts": 2}, {}]),
        ((MacaoCalled(2), MacaoFined(0, ("??",))), [{"caught": 1}, {}, {"calls": 1}]),
        ((MacaoCaught(0, 2, ("??", "??")),), [{"caught": 1}, {}, {"catches": 1}]),
        (
            (
                PenaltyStacked(0, 2, 2),
                PenaltyStacked(1, 2, 4),
                PenaltyTaken(2, 4, ("??",) * 4),
                Drew(0, ("??",)),
            ),
            [{"stacked": 1}, {"stacked": 1}, {"penalty_cards": 4}],
        ),
        ((HandCounted(1, ("KH",), 10, 10), HandCounted(1, ("2S",), 2, 12)), [{}, {"points": 12}, {}]),
        (
            (Staked(0, 2), Staked(1, 2), Paid(1, 4, "pot"), Paid(1, 1, "supply")),
            [{"chips": -2}, {"chips": 3}, {}],
        ),
    ],
    ids=["busts", "the word", "a catch", "penalties", "points", "a pot"],
)
def test_what_is_counted(facts, counted):
    assert figures(*facts) == counted


def test_the_bank_pays_and_takes():
    lot = LotDrawn("bank", 0, LotDraw(0, 0, (0, 1, 2), 0))
    assert figures(
        lot,
        Staked(1, 5), Staked(2, 3),  # -5, -3
        Paid(1, 10, "bank"), StakeReturned(1, 5),  # the bank -10
        StakeTaken(2, 3, 6),  # the bank +9, and 6 more from the player
        BankPassed(1),
        Staked(0, 1), StakeTaken(0, 1),  # to the next bank
    ) == [{"chips": -2}, {"chips": 11}, {"chips": -9}]  # fmt: skip


@pytest.mark.parametrize(
    ("game", "given"),
    [
        ("dice-race", {"stakes": "even"}),
        ("dice-race", {"stakes": "dangerous"}),
        ("dice-bank", {}),
        ("cards-bank", {}),
    ],
)
def test_chips_are_those_that_the_rules_leave(game, given):
    rules = CATALOGUE.game(game)
    options = read_options(rules, given, 3)
    for seed in range(6):
        match = played_out(rules, options, 3, seed, leave_rate=0)
        story = Story()
        story.happen(match.match.started.match, *match.facts)
        row = None
        for recorded in story.records:
            row = evolve(row, recorded)
        won = [row.tally[at * len(FIGURES) + CHIPS] for at in range(3)]
        assert [options.starting_chips + by for by in won] == list(match.match.game.chips)
        assert any(won)


async def test_streaks(connection):
    story = Story()
    places = [1, 1, 2, 1, 1, 1, 2, 1, 1]
    for number, place in enumerate(places):
        story.play(a("m", number), [P1, P2], [place, 3 - place])
        story.play(a("m", 50 + number), [P1, P2], [2, 1], game="cards-places")
    history = History()
    await feed(connection, history, story.records, always(6))

    async def streaks(who):
        return {
            at.game: (at.streak, at.streak_longest)
            for at in await history.figures(connection, who, private=False)
        }

    assert await streaks(P1) == {"dice-race": (2, 3), "cards-places": (0, 0)}
    assert await streaks(P2) == {"dice-race": (0, 1), "cards-places": (9, 9)}
    told = len(story.records)
    story.happen(a("m", 2), MatchVoided("ruled"))  # the first defeat
    story.happen(a("m", 8), MatchVoided("ruled"))
    await feed(connection, history, story.records[told:], always(6))
    assert await streaks(P1) == {"dice-race": (1, 5), "cards-places": (0, 0)}
