"""Rows in PostgreSQL: the same whatever the size of the batches, equal to the pure fold, and by hand."""

from random import Random

import asyncpg
import pytest
import pytest_asyncio

from services.contracts.events.match import MatchEnded, MatchVoided, PlayerEliminated
from services.projections.board import fold as board_fold
from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.leaderboards.tables import Leaderboards, Standing
from tests.projections.stories import Story, a, invented, player
from tests.projections.support import PROJECTIONS, contents

P1, P2, P3, P4 = (player(number) for number in range(1, 5))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(databases):
    async with databases.fresh() as url:
        connection = await asyncpg.connect(url)
        await connection.execute("SET ROLE macao_app")
        yield connection
        await connection.close()


@pytest_asyncio.fixture(loop_scope="session")
async def connection(shared):
    for projection in PROJECTIONS:
        await projection.clear(shared)
    return shared


async def feed(connection, projection, records, sizes):
    """Apply records in batches of the sizes that ``sizes`` yields."""
    at = 0
    while at < len(records):
        size = next(sizes)
        async with connection.transaction():
            await projection.apply(connection, records[at : at + size])
        at += size


def always(size):
    while True:
        yield size


def sizes_of(random):
    while True:
        yield random.choice([1, 2, 3, 5, 8, 40, 200])


@pytest.mark.parametrize("kind", [Board, Leaderboards, History])
@pytest.mark.parametrize("seed", range(6))
async def test_the_size_of_the_batches_does_not_matter(connection, kind, seed):
    records = invented(seed).records
    projection = kind()
    seen = set()
    for sizes in (always(1), always(len(records)), sizes_of(Random(seed))):
        await projection.clear(connection)
        await feed(connection, projection, records, sizes)
        seen.add(await contents(connection, projection))
    assert len(seen) == 1
    assert seen.pop().count(b"\n") > 10


async def test_the_board_is_its_fold(connection):
    story = invented(3)
    board = Board()
    await feed(connection, board, story.records, sizes_of(Random(3)))
    rows = board_fold.fold({}, story.records)
    shown = sorted((row for row in rows.values() if row.shown), key=lambda row: row.id, reverse=True)
    assert shown
    assert await board.page(connection, game=None, state=None, before=None, limit=1000) == shown
    playing = [row for row in shown if row.state == "playing" and row.game == "dice-race"]
    assert await board.page(connection, game="dice-race", state="playing", before=None, limit=1000) == playing
    changes = await board.changes(connection, 0, 1000)
    assert [change.position for change in changes] == sorted(
        row.shown_position for row in rows.values() if row.shown_position
    )
    assert {change.row.id: change.row for change in changes} == {
        row.id: row for row in rows.values() if row.shown_position
    }


async def test_a_small_tournament_by_hand(connection):
    """Ties, an eliminated player, an unrated match, a bot at the table, an abort: only three matches move ratings.

    1. Four newcomers at 1000, places 1, 2, 2, 4. K/(n-1) = 40/3.
       P1 +40/3 * 3/2 = +20;  P2, P3: +40/3 * (-1/2 + 0 + 1/2) = 0;  P4 -20.
       1020, 1000, 1000, 980.
    2. P3 (1000) beats P2 (1000): +20, -20.   P3 1020, P2 980.
    3. P1 (1020), P3 (1020), P2 (980): P2 has moved, leaves and is third; P3 first, P1 second. K/(n-1) = 20.
       E(lead 40 points) = 1 / (1 + 10 ** -0.1) = 1 / 1.79432823... = 0.557311663...
       P3: 20 * ((1 - 1/2) + (1 - 0.557311663)) = 20 * 0.942688337 = 18.85376...
       P1: 20 * ((0 - 1/2) + (1 - 0.557311663)) = 20 * -0.057311663 = -1.14623...
       P2: 20 * 2 * -0.442688337 = -17.70753...
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
    await feed(connection, boards, story.records, always(7))
    assert await boards.page(connection, "dice-race", None, 10) == [
        Standing(1, P3, 1_038_854, 3),
        Standing(2, P1, 1_018_854, 2),
        Standing(3, P4, 980_000, 1),
        Standing(4, P2, 962_292, 3),
    ]
    assert await boards.page(connection, "cards-places", None, 10) == []


async def test_a_void_takes_a_match_back_as_if_it_had_never_been(connection):
    boards = Leaderboards()

    def tell(*, voided):
        story = Story()
        story.play(a("m", 1), [P1, P2], [1, 2])
        if voided is not None:
            story.play(a("m", 2), [P2, P4], [1, 2], rated=True)
        story.play(a("m", 3), [P2, P3], [1, 2])
        story.play(a("m", 4), [P3, P1], [1, 2], game="cards-places")
        story.play(a("m", 5), [P1, P2, P3], [3, 1, 1])
        if voided:
            story.happen(a("m", 2), MatchVoided("ruled"), actor="operator")
        return story

    async def standings(story):
        await boards.clear(connection)
        await feed(connection, boards, story.records, always(4))
        changes = await connection.fetch(
            "SELECT match_id, player, place, before, after, games, k "
            "FROM macao_projections.leaderboard_changes ORDER BY 1, 2"
        )
        pages = [await boards.page(connection, game, None, 10) for game in ("dice-race", "cards-places")]
        return pages, [tuple(change) for change in changes]

    without = await standings(tell(voided=None))
    assert await standings(tell(voided=False)) != without
    assert await standings(tell(voided=True)) == without


async def test_ranks_are_in_a_total_order_and_pages_join_up(connection):
    boards = Leaderboards()
    story = Story()
    people = [player(number) for number in range(1, 24)]
    for number, (one, other) in enumerate(zip(people[::2], people[1::2], strict=False)):
        # Every winner has 1020 after one game, every loser 980: ties everywhere.
        story.play(a("m", number), [one, other], [1, 2])
    story.play(a("m", 99), [people[0], people[2]], [1, 1])
    await feed(connection, boards, story.records, always(50))
    whole = await boards.page(connection, "dice-race", None, 100)
    assert [at.rank for at in whole] == list(range(1, 23))
    assert whole == sorted(whole, key=lambda at: (-at.rating, -at.games, at.player))
    assert [at.player for at in whole[:2]] == [people[0], people[2]]
    paged, after = [], None
    while page := await boards.page(connection, "dice-race", after, 3):
        paged += page
        after = page[-1].key
    assert paged == whole
    for rank in (1, 2, 11, 22):
        above, here, below = await boards.around(connection, "dice-race", whole[rank - 1].player, 2)
        assert here == whole[rank - 1]
        assert above == whole[max(0, rank - 3) : rank - 1]
        assert below == whole[rank : rank + 2]
    assert await boards.around(connection, "dice-race", P4 + "x", 2) is None


async def test_a_history_and_its_figures(connection):
    history = History()
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    story.play(a("m", 2), [P2, P1], [1, 2], visibility="private")
    story.play(a("m", 3), [P1, P3], [1, 1], bot=1)
    story.play(a("m", 4), [P1, P2], [2, 1])
    story.happen(a("m", 4), MatchVoided("ruled"), actor="operator")
    story.start(a("m", 5), P1, P2)
    await feed(connection, history, story.records, always(5))

    async def matches(who, *, private, before=1 << 40, limit=10):
        return [
            (entry.row.match, entry.row.status, entry.seat)
            for entry in await history.page(connection, who, before, limit, private=private)
        ]

    mine = await matches(P1, private=True)
    assert mine == [
        (a("m", 5), "running", 0), (a("m", 4), "voided", 0), (a("m", 3), "ended", 0),
        (a("m", 2), "ended", 1), (a("m", 1), "ended", 0),
    ]  # fmt: skip
    assert await matches(P1, private=False) == [entry for entry in mine if entry[0] != a("m", 2)]
    assert await matches(P1, private=True, limit=2) == mine[:2]
    assert await matches(P3, private=True) == []  # a bot
    (figures,) = await history.figures(connection, P1, private=True)
    assert (figures.game, figures.matches, figures.wins, figures.places) == (
        "dice-race",
        3,
        2,
        {"1": 2, "2": 1},
    )
    (figures,) = await history.figures(connection, P1, private=False)
    assert figures.matches == 2


@pytest.mark.parametrize("kind", [Board, Leaderboards, History])
async def test_what_is_compared_is_all_there_is(kind):
    """Every table that a projection has is named, so that clearing and comparing miss none."""
    prefixes = {Board: "board", Leaderboards: "leaderboard", History: "history"}
    from importlib.resources import files

    sql = "".join(
        file.read_text()
        for file in files("services.projections").joinpath("sql/migrations").iterdir()
        if file.name.endswith(".sql")
    )
    made = {line.split(".")[1].split(" ")[0] for line in sql.splitlines() if line.startswith("CREATE TABLE")}
    assert {name for name in made if name.startswith(prefixes[kind])} == set(kind.TABLES)
