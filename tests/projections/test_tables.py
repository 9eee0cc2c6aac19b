"""Rows in PostgreSQL: the same whatever the size of the batches, equal to the pure fold, and by hand."""

from random import Random

import pytest

from services.contracts.events.match import MatchVoided
from services.projections.board import fold as board_fold
from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.leaderboards.tables import Leaderboards
from services.projections.records.tables import Records
from tests.projections.stories import Story, a, invented, player
from tests.projections.support import always, contents, feed, sizes_of

P1, P2, P3 = (player(number) for number in range(1, 4))


@pytest.mark.parametrize("kind", [Board, Leaderboards, History, Records])
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
    assert seen.pop().count(b"\n") > 3


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


@pytest.mark.parametrize("kind", [Board, Leaderboards, History, Records])
async def test_what_is_compared_is_all_there_is(kind):
    """Every table that a projection has is named, so that clearing and comparing miss none."""
    prefixes = {Board: "board", Leaderboards: "leaderboard", History: "history", Records: "records"}
    from importlib.resources import files

    sql = "".join(
        file.read_text()
        for file in files("services.projections").joinpath("sql/migrations").iterdir()
        if file.name.endswith(".sql")
    )
    made = {line.split(".")[1].split(" ")[0] for line in sql.splitlines() if line.startswith("CREATE TABLE")}
    assert {name for name in made if name.startswith(prefixes[kind])} == set(kind.TABLES)
