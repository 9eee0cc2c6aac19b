"""The account of ratings: what the writer writes, what is folded from it, and matches that are taken back."""

from random import Random

import pytest

from services.contracts.events.match import MatchEnded, MatchVoided, PlayerEliminated
from services.contracts.events.rating import RatingApplied, RatingWithdrawn
from services.projections.leaderboards.ranks import Ranking, Ranks
from services.projections.leaderboards.tables import Leaderboards
from tests.projections.accounts import Account, should_be, stands
from tests.projections.stories import Story, a, player
from tests.projections.support import always, contents, sizes_of

P1, P2, P3, P4, P5 = (player(number) for number in range(1, 6))


def facts(story, kind):
    from services.contracts.events.catalogue import decode

    return [
        fact
        for record in story.records
        if isinstance(fact := decode(record.event.type, record.event.schema, record.event.body), kind)
    ]


async def test_a_small_tournament_by_hand(connection):
    """Ties, an eliminated player, an unrated match, a bot at the table, an abort, and at the end a void.

    1. Four newcomers at 1000, places 1, 2, 2, 4. K/(n-1) = 40/3.
       P1 +40/3 * 3/2 = +20;  P2, P3: +40/3 * (-1/2 + 0 + 1/2) = 0;  P4 -20.
       1020, 1000, 1000, 980.
    2. and 3. do not count: not rated; a bot at the table.
    4. P3 (1000) beats P2 (1000): +20, -20.   P3 1020, P2 980.
    5. P4 leaves before P1 has moved: does not count.
    6. P1 (1020), P3 (1020), P2 (980): P2 has moved, leaves and is third; P3 first, P1 second. K/(n-1) = 20.
       E(lead 40 points) = 1 / (1 + 10 ** -0.1) = 1 / 1.79432823... = 0.557311663...
       P3: 20 * ((1 - 1/2) + (1 - 0.557311663)) = 20 * 0.942688337 = 18.85376...
       P1: 20 * ((0 - 1/2) + (1 - 0.557311663)) = 20 * -0.057311663 = -1.14623...
       P2: 20 * 2 * -0.442688337 = -17.70753...
    Then match 4 is voided. P1 and P4 had no part in it, and match 6 is applied anew, for all three of its players:
    P1 (1020), P3 (1000), P2 (1000).
       E(lead 20 points) = 1 / (1 + 10 ** -0.05) = 1 / 1.891250938... = 0.528750...
       P3 against P1: 1 - 0.471250 = 0.528750; against P2: 1/2.   20 * 1.028750... = 20.575...
       P1 against P3: 0 - 0.528750; against P2: 1 - 0.528750.     20 * -0.057500... = -1.150...
       P2 against P1: -0.471250; against P3: -1/2.                20 * -0.971250... = -19.425...
    """
    story = Story()
    story.play(a("m", 1), [P1, P2, P3, P4], [1, 2, 2, 4])
    story.play(a("m", 2), [P4, P1], [1, 2], rated=False)
    story.play(a("m", 3), [P4, P1], [1, 2], bot=1)
    story.play(a("m", 4), [P2, P3], [2, 1])
    story.start(a("m", 5), P4, P1)
    story.act(a("m", 5), P4, PlayerEliminated(0, "left", 2), MatchEnded((2, 1)), move="leave")
    story.start(a("m", 6), P1, P2, P3)
    for who in (P1, P2, P3):
        story.act(a("m", 6), who)
    story.act(a("m", 6), P2, PlayerEliminated(1, "left", 3), move="leave")
    story.act(a("m", 6), P3, MatchEnded((2, 3, 1)))
    boards = Leaderboards()
    ranks = Ranks(boards)
    account = Account(connection, boards, story, always(7))
    assert await account.settle() == 3
    assert await ranks.page(connection, "dice-race", None, 10) == [
        Ranking(1, P3, 1_038_854, 3, True),
        Ranking(2, P1, 1_018_854, 2, True),
        Ranking(3, P4, 980_000, 1, True),
        Ranking(4, P2, 962_292, 3, True),
    ]
    assert await ranks.page(connection, "cards-places", None, 10) == []

    voided = story.happen(a("m", 4), MatchVoided("ruled"), actor="operator")
    assert await account.settle() == 2
    assert await ranks.page(connection, "dice-race", None, 10) == [
        Ranking(1, P3, 1_020_575, 2, True),
        Ranking(2, P1, 1_018_850, 2, True),
        Ranking(3, P2, 980_575, 2, True),
        Ranking(4, P4, 980_000, 1, True),
    ]
    (withdrawn,) = facts(story, RatingWithdrawn)
    assert withdrawn == RatingWithdrawn(a("m", 4), "dice-race", story.records[voided - 1].event.version)
    told = [(fact.match, fact.revision) for fact in facts(story, RatingApplied)]
    assert told == [(a("m", 1), 0), (a("m", 4), 0), (a("m", 6), 0), (a("m", 6), 1)]


async def test_only_what_a_void_touches_is_applied_anew(connection):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    story.play(a("m", 2), [P3, P4], [1, 2])
    story.play(a("m", 3), [P4, P5], [1, 2])
    story.play(a("m", 4), [P1, P5], [1, 2])
    story.play(a("m", 5), [P1, P2], [1, 2], game="cards-places")
    account = Account(connection, Leaderboards(), story, always(100))
    assert await account.settle() == 5
    story.happen(a("m", 1), MatchVoided("ruled"), actor="operator")
    assert await account.settle() == 2  # the withdrawal, and match 4
    assert await stands(connection) == should_be(story.records)
    assert ("dice-race", P2) not in await stands(connection)


async def test_a_match_voided_while_the_writer_was_about_to_apply_it(connection):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    end = story.play(a("m", 2), [P2, P3], [1, 2])
    account = Account(connection, Leaderboards(), story, always(100))
    await account.fold()
    story.happen(a("m", 2), MatchVoided("ruled"), actor="operator")
    account.folded = end
    await account.write()  # does not know of the void, which stands before it in the log
    await account.settle()
    assert [type(fact).__name__ for fact in facts(story, RatingApplied | RatingWithdrawn)] == [
        "RatingApplied",
        "RatingApplied",
        "RatingWithdrawn",
    ]
    assert await stands(connection) == should_be(story.records)
    assert set(await stands(connection)) == {("dice-race", P1), ("dice-race", P2)}


async def test_a_match_voided_before_it_was_applied_is_never_applied(connection):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    story.happen(a("m", 1), MatchVoided("ruled"), actor="operator")
    account = Account(connection, Leaderboards(), story, always(3))
    assert await account.settle() == 0
    assert await stands(connection) == {}


async def test_voiding_twice_is_voiding_once(connection):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    account = Account(connection, Leaderboards(), story, always(3))
    await account.settle()
    story.happen(a("m", 1), MatchVoided("ruled"), actor="operator")
    story.happen(a("m", 1), MatchVoided("ruled again"), actor="operator")
    assert await account.settle() == 1
    story.happen(a("m", 1), MatchVoided("and again"), actor="operator")
    assert await account.settle() == 0
    assert await stands(connection) == {}


def league(random, story, matches, people):
    """Play so many matches of one game among few people, so that everybody meets everybody again and again."""
    before = len(story.records)
    for _ in range(matches):
        count = random.choice([2, 2, 3, 4])
        seats = random.sample(people, count)
        story.play(a("m", 1000 + len(story.records)), seats, [random.randint(1, count) for _ in seats])
    return [record.event.stream for record in story.records[before:] if record.event.type == "match-ended"]


@pytest.mark.parametrize("seed", range(4))
async def test_voids_at_random_leave_what_the_other_matches_alone_would_have_given(connection, seed):
    """Incremental, in any pages and with a writer that comes late, equals the reference; and equals a refold."""
    random = Random(seed)
    story = Story()
    people = [player(number) for number in range(1, 14)]
    boards = Leaderboards()
    account = Account(connection, boards, story, sizes_of(random), events_max=random.choice([1, 3, 20]))
    voids = 0
    for _ in range(8):
        ended = league(random, story, random.randint(1, 9), people)
        for match in random.sample(ended, min(len(ended), random.choice([0, 1, 1, 4]))):
            voids += 1
            story.happen(match, MatchVoided("ruled"), actor="operator")
        await account.fold()
        for _ in range(random.randint(0, 3)):
            await account.write(results_first=random.random() < 0.5)
            await account.fold()
    await account.settle()
    assert voids
    assert await stands(connection) == should_be(story.records)
    assert not await connection.fetch("SELECT * FROM macao_projections.leaderboard_breaks")
    incremental = await contents(connection, boards)
    for sizes in (always(1), always(len(story.records)), sizes_of(random)):
        await boards.clear(connection)
        await Account(connection, boards, story, sizes).fold()
        assert await contents(connection, boards) == incremental


async def test_the_tables_are_the_same_at_every_position_however_they_came_there(connection):
    """Also in the middle of a correction: what is broken depends on the account, not on the pages."""
    random = Random(5)
    story = Story()
    boards = Leaderboards()
    people = [player(number) for number in range(1, 8)]
    account = Account(connection, boards, story, always(100), events_max=2)
    ended = league(random, story, 25, people)
    await account.settle()
    for match in ended[2:5]:
        story.happen(match, MatchVoided("ruled"), actor="operator")
    await account.settle()
    middle = range(len(story.records) - 30, len(story.records), 7)
    seen = []
    for position in middle:
        found = set()
        for sizes in (always(1), always(50), sizes_of(random)):
            await boards.clear(connection)
            await Account(connection, boards, story, sizes).fold(position)
            found.add(await contents(connection, boards))
        assert len(found) == 1
        seen += found
    assert len(set(seen)) == len(seen)


async def test_the_counts_are_those_of_the_standings(connection):
    random = Random(9)
    story = Story()
    people = [player(number) for number in range(1, 9)]
    account = Account(connection, Leaderboards(), story, sizes_of(random))
    league(random, story, 2, [player(20), player(21), player(22), player(23)])
    for match in league(random, story, 120, people)[::9]:
        story.happen(match, MatchVoided("ruled"), actor="operator")
    await account.settle()
    counted = await connection.fetch(
        "SELECT game, provisional, rating / 1000 AS points, count(*) AS players "
        "FROM macao_projections.leaderboard GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    held = await connection.fetch(
        "SELECT game, provisional, points, players FROM macao_projections.leaderboard_counts ORDER BY 1, 2, 3"
    )
    assert [tuple(row) for row in held] == [tuple(row) for row in counted]
    assert {row["provisional"] for row in held} == {False, True}


async def test_ranks_are_in_a_total_order_and_pages_join_up(connection):
    boards = Leaderboards()
    ranks = Ranks(boards)
    story = Story()
    people = [player(number) for number in range(1, 24)]
    for number, (one, other) in enumerate(zip(people[::2], people[1::2], strict=False)):
        # Every winner has 1020 after one game, every loser 980: ties everywhere.
        story.play(a("m", number), [one, other], [1, 2])
    story.play(a("m", 99), [people[0], people[2]], [1, 1])
    for number in range(31):  # two players who are no longer provisional
        story.play(a("m", 200 + number), [people[4], people[6]], [1, 1])
    await Account(connection, boards, story, always(50)).settle()
    whole = await ranks.page(connection, "dice-race", None, 100)
    assert [at.rank for at in whole] == list(range(1, 23))
    assert whole == sorted(whole, key=lambda at: (-at.rating, -at.games, at.player))
    assert [at.player for at in whole[:4]] == [people[4], people[6], people[0], people[2]]
    for players in ("all", "established", "provisional"):
        board = await ranks.page(connection, "dice-race", None, 100, players)
        wanted = [at for at in whole if players == "all" or at.provisional == (players == "provisional")]
        assert [at.player for at in board] == [at.player for at in wanted]
        assert [at.rank for at in board] == list(range(1, len(board) + 1))
        paged, after = [], None
        while page := await ranks.page(connection, "dice-race", after, 3, players):
            paged += page
            after = page[-1].key
        assert paged == board
        for at in board:
            above, here, below = await ranks.around(connection, "dice-race", at.player, 2, players)
            assert here == at
            assert above == board[max(0, at.rank - 3) : at.rank - 1]
            assert below == board[at.rank : at.rank + 2]
    assert await ranks.around(connection, "dice-race", people[0], 2, "established") is None
    assert await ranks.around(connection, "dice-race", P4 + "x", 2) is None
