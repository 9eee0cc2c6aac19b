"""What the writer of ratings has to write next, worked out from the tables of the leaderboards.

Three kinds of work, each a command of its own:

* **withdraw** matches that were applied and have been voided since;
* **apply anew**, at a higher revision, what no longer begins where the application before it ended, the first in the
  order of the log first; whoever comes after follows, for as long as there is a difference;
* **apply** matches that have ended, in the order in which they ended in the log.

Nothing is remembered between two calls, and nothing is decided that the tables do not say. So it does not matter how
often, or by whom, it is asked: the events are chained behind the head up to which the tables are folded, and if the
stream has moved on since, the log refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Head
from services.contracts.events.rating import RatedSeat, RatingApplied, RatingWithdrawn
from services.projections.leaderboards import ratings
from services.projections.leaderboards.tables import Leaderboards, contest_of
from services.projections.projection import Connection

_GAMES = """
SELECT game FROM {schema}.leaderboard_matches WHERE rated
UNION SELECT game FROM {schema}.leaderboard_breaks
UNION SELECT game FROM {schema}.leaderboard_matches WHERE ended_position IS NOT NULL AND voided_version IS NULL
ORDER BY game
"""
_HEAD = "SELECT version, hash FROM {schema}.leaderboard_streams WHERE game = $1"

_TO_WITHDRAW = """
SELECT match_id, voided_version FROM {schema}.leaderboard_matches WHERE game = $1 AND rated
ORDER BY match_id LIMIT $2
"""
_TO_APPLY = """
SELECT * FROM {schema}.leaderboard_matches
WHERE game = $1 AND ended_position IS NOT NULL AND voided_version IS NULL
ORDER BY ended_position LIMIT $2
"""
_STANDINGS = """
SELECT player, rating, games FROM {schema}.leaderboard WHERE game = $1 AND player = ANY($2)
"""

_BROKEN = """
SELECT position, match_id FROM {schema}.leaderboard_breaks WHERE game = $1 ORDER BY position LIMIT $2
"""
_APPLICATION = """
SELECT change.*, former.position AS former_position, former.after AS former_after, former.games AS former_games,
    following.position AS following_position, following.match_id AS following_match,
    following.before AS following_before, following.games AS following_games
FROM {schema}.leaderboard_changes AS change
LEFT JOIN LATERAL (
    SELECT position, after, games FROM {schema}.leaderboard_changes AS other
    WHERE other.game = change.game AND other.player = change.player AND other.position < change.position
    ORDER BY position DESC LIMIT 1
) AS former ON true
LEFT JOIN LATERAL (
    SELECT position, match_id, before, games FROM {schema}.leaderboard_changes AS other
    WHERE other.game = change.game AND other.player = change.player AND other.position > change.position
    ORDER BY position LIMIT 1
) AS following ON true
WHERE change.match_id = $1 ORDER BY change.seat
"""


class Order(Struct, frozen=True):
    """A command for the stream of a game's ratings.

    Attributes:
        expected: the head up to which the tables are folded.
        command: the id, made from the first match and what is done with it.
    """

    game: str
    expected: Head
    command: str
    facts: tuple[RatingApplied | RatingWithdrawn, ...]


class Rater:
    """Decides for the writer. Every call wants a connection in a transaction that sees one state of the tables.

    Args:
        events_max: the most events of one command.
    """

    def __init__(self, boards: Leaderboards, *, events_max: int = 500) -> None:
        self._boards = boards
        self._events_max = events_max

    async def games(self, connection: Connection) -> list[str]:
        """Return the games in which there is something to do."""
        return [row["game"] for row in await connection.fetch(self._boards.sql(_GAMES))]

    async def head(self, connection: Connection, game: str) -> Head:
        """Return the head up to which a game's ratings are folded."""
        row = await connection.fetchrow(self._boards.sql(_HEAD), game)
        return Head() if row is None else Head(row["version"], row["hash"])

    async def next(self, connection: Connection, game: str, *, results_first: bool = False) -> Order | None:
        """Return what is to be written next, None if there is nothing.

        With ``results_first`` new results come before what is to be applied anew. Whoever asks with and without it
        in turn lets the board go on while a long correction is under way.
        """
        expected = await self.head(connection, game)
        facts: Sequence[RatingApplied | RatingWithdrawn] = await self._withdrawals(connection, game)
        if not facts and results_first:
            facts = await self._results(connection, game)
        if not facts:
            facts = await self._anew(connection, game)
        if not facts and not results_first:
            facts = await self._results(connection, game)
        return Order(game, expected, _command(facts[0]), tuple(facts)) if facts else None

    async def _withdrawals(self, connection: Connection, game: str) -> list[RatingWithdrawn]:
        records = await connection.fetch(self._boards.sql(_TO_WITHDRAW), game, self._events_max)
        return [RatingWithdrawn(row["match_id"], game, row["voided_version"]) for row in records]

    async def _results(self, connection: Connection, game: str) -> list[RatingApplied]:
        records = await connection.fetch(self._boards.sql(_TO_APPLY), game, self._events_max)
        contests = [contest_of(record) for record in records]
        players = {player for contest in contests for player in contest.players}
        rows = await connection.fetch(self._boards.sql(_STANDINGS), game, list(players)) if players else []
        standings: dict[str, tuple[int, int]] = {row["player"]: (row["rating"], row["games"]) for row in rows}
        facts: list[RatingApplied] = []
        for contest in contests:
            if contest.places is None or contest.ended_position is None or contest.ended_version is None:
                continue
            entries = [
                ratings.Entry(player, *standings.get(player, (ratings.START, 0)), place)
                for player, place in zip(contest.players, contest.places, strict=True)
            ]
            seats = _rated(entries)
            standings.update((seat.player, (seat.after, seat.games + 1)) for seat in seats)
            facts.append(
                RatingApplied(
                    contest.match,
                    game,
                    contest.ended_position,
                    contest.ended_version,
                    ratings.POLICY,
                    0,
                    seats,
                )
            )
        return facts

    async def _anew(self, connection: Connection, game: str) -> list[RatingApplied]:
        """Follow the breaks through the account, in the order of the log, as far as one command goes."""
        rows = await connection.fetch(self._boards.sql(_BROKEN), game, self._events_max)
        waiting: list[tuple[int, str]] = [(row["position"], row["match_id"]) for row in rows]
        heapify(waiting)
        seen = set(waiting)
        standings: dict[str, tuple[int, int, int]] = {}
        facts: list[RatingApplied] = []
        while waiting and len(facts) < self._events_max:
            _position, match = heappop(waiting)
            records = await connection.fetch(self._boards.sql(_APPLICATION), match)
            fact = _made_anew(records, standings)
            facts.append(fact)
            for seat, record in zip(fact.seats, records, strict=True):
                standings[seat.player] = (seat.after, seat.games + 1, fact.position)
                following = (record["following_position"], record["following_match"])
                held = (record["following_before"], record["following_games"])
                if following[1] is not None and following not in seen and held != standings[seat.player][:2]:
                    heappush(waiting, following)
                    seen.add(following)
        return facts


def _made_anew(
    records: Sequence[asyncpg.Record], standings: dict[str, tuple[int, int, int]]
) -> RatingApplied:
    """Return an application made anew: from what is in the account before it, or in ``standings`` since."""
    first = records[0]
    entries: list[ratings.Entry] = []
    for record in records:
        rating, games, position = ratings.START, 0, 0
        if record["former_position"] is not None:
            rating, games, position = (
                record["former_after"], record["former_games"] + 1, record["former_position"],
            )  # fmt: skip
        known = standings.get(record["player"])
        if known is not None and known[2] >= position:
            rating, games, _ = known
        entries.append(ratings.Entry(record["player"], rating, games, record["place"]))
    return RatingApplied(
        match=first["match_id"], game=first["game"], position=first["position"], version=first["version"],
        policy=ratings.POLICY, revision=first["revision"] + 1, seats=_rated(entries),
    )  # fmt: skip


def _rated(entries: Iterable[ratings.Entry]) -> tuple[RatedSeat, ...]:
    return tuple(
        RatedSeat(change.player, change.place, change.games, change.k, change.before, change.after)
        for change in ratings.rate(list(entries))
    )


def _command(fact: RatingApplied | RatingWithdrawn) -> str:
    """Return the id of a command that begins with a fact: the same for everybody who decides the same."""
    if isinstance(fact, RatingWithdrawn):
        return f"ratings:{fact.match}:withdraw"
    return f"ratings:{fact.match}:{fact.revision}"
