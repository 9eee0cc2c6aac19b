"""Ratings in tests: a writer that appends to a story, and what every account should say, from the matches alone."""

from __future__ import annotations

from services.contracts.ids import ratings_of
from services.projections.leaderboards import ratings
from services.projections.leaderboards.fold import Contest, evolve
from services.projections.leaderboards.rater import Rater


class Account:
    """The leaderboards over a story, with a writer that adds its events to that story.

    Args:
        sizes: yields how many events the next page has.
        events_max: the most events of one command of the writer.
    """

    def __init__(self, connection, boards, story, sizes, events_max=500) -> None:
        self.connection = connection
        self.boards = boards
        self.story = story
        self.rater = Rater(boards, events_max=events_max)
        self.folded = 0
        self._sizes = sizes

    async def fold(self, upto: int | None = None) -> None:
        """Fold what the story has, as far as a position."""
        end = len(self.story.records) if upto is None else upto
        while self.folded < end:
            page = self.story.records[self.folded : min(end, self.folded + next(self._sizes))]
            async with self.connection.transaction():
                await self.boards.apply(self.connection, page)
            self.folded += len(page)

    async def write(self, *, results_first: bool = False) -> int:
        """Let the writer write one command a game; return how many events it wrote."""
        written = 0
        for game in await self.rater.games(self.connection):
            order = await self.rater.next(self.connection, game, results_first=results_first)
            self.story.happen(ratings_of(game), *order.facts, actor="ratings")
            assert self.story.commands[-1][0] == order.expected
            written += len(order.facts)
        return written

    async def settle(self) -> int:
        """Fold and write until there is nothing left to write; return how many events were written."""
        written = 0
        await self.fold()
        while count := await self.write():
            written += count
            await self.fold()
        return written


def should_be(records) -> dict[tuple[str, str], tuple[int, int]]:
    """Return ratings and games by game and player: every match that counts and was never voided, in log order."""
    contests: dict[str, Contest | None] = {}
    for record in records:
        if record.event.stream.startswith("m_"):
            contests[record.event.stream] = evolve(contests.get(record.event.stream), record)
    counting = [
        contest
        for contest in contests.values()
        if contest is not None and contest.places is not None and contest.voided_version is None
    ]
    standings: dict[tuple[str, str], tuple[int, int]] = {}
    for contest in sorted(counting, key=lambda contest: contest.ended_position):
        entries = [
            ratings.Entry(player, *standings.get((contest.game, player), (ratings.START, 0)), place)
            for player, place in zip(contest.players, contest.places, strict=True)
        ]
        for change in ratings.rate(entries):
            standings[contest.game, change.player] = (change.after, change.games + 1)
    return standings


async def stands(connection) -> dict[tuple[str, str], tuple[int, int]]:
    """Return what the table of standings says."""
    rows = await connection.fetch("SELECT game, player, rating, games FROM macao_projections.leaderboard")
    return {(row["game"], row["player"]): (row["rating"], row["games"]) for row in rows}
