"""The leaderboards in PostgreSQL: how matches become ratings, and how ranks are read.

Results are applied in log order by whoever holds the subscription, each in the transaction that moves the
checkpoint. A result is final with one exception: a match that is voided after its end. Then the game is
wound back to before that match, and every later result is applied again without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.projections.leaderboards import ratings
from services.projections.leaderboards.fold import Contest, evolve
from services.projections.projection import Connection, Projection

_REPLAY_PAGE: Final = 1000

_LOAD = "SELECT * FROM {schema}.leaderboard_matches WHERE match_id = ANY($1)"
_DROP = "DELETE FROM {schema}.leaderboard_matches WHERE match_id = ANY($1)"
_KEEP = """
INSERT INTO {schema}.leaderboard_matches
    (match_id, game, players, settled, eliminated_by, settled_before, ended_position, places)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (match_id) DO UPDATE SET
    settled = excluded.settled, eliminated_by = excluded.eliminated_by, settled_before = excluded.settled_before,
    ended_position = excluded.ended_position, places = excluded.places
"""

_LOAD_STANDINGS = """
SELECT game, player, rating, games FROM {schema}.leaderboard
JOIN unnest($1::text[], $2::text[]) AS wanted (game, player) USING (game, player)
"""
_KEEP_STANDINGS = """
INSERT INTO {schema}.leaderboard (game, player, rating, games)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[])
ON CONFLICT (game, player) DO UPDATE SET rating = excluded.rating, games = excluded.games
"""
_KEEP_CHANGES = """
INSERT INTO {schema}.leaderboard_changes
    (game, player, position, match_id, place, before, after, games, k, policy)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::text[], $5::integer[], $6::bigint[], $7::bigint[], $8::integer[],
    $9::integer[], $10::integer[])
"""

_WIND_BACK = """
WITH undone AS (
    DELETE FROM {schema}.leaderboard_changes WHERE game = $1 AND position >= $2
    RETURNING player, position, before, games
), first AS (
    SELECT DISTINCT ON (player) player, before, games FROM undone ORDER BY player, position
)
UPDATE {schema}.leaderboard AS standing SET rating = first.before, games = first.games
FROM first WHERE standing.game = $1 AND standing.player = first.player
"""
_DROP_NEWCOMERS = "DELETE FROM {schema}.leaderboard WHERE game = $1 AND games = 0"
_LATER = """
SELECT * FROM {schema}.leaderboard_matches
WHERE game = $1 AND ended_position > $2 ORDER BY ended_position LIMIT $3
"""

# The one order of a leaderboard: rating, then games, both falling, then the player's id.
_TOP = """
SELECT player, rating, games FROM {schema}.leaderboard
WHERE game = $1 ORDER BY rating DESC, games DESC, player LIMIT $2
"""
_AHEAD = """
SELECT player, rating, games FROM {schema}.leaderboard
WHERE game = $1 AND rating >= $2 AND (rating > $2 OR games > $3 OR (games = $3 AND player < $4))
ORDER BY rating, games, player DESC LIMIT $5
"""
_BEHIND = """
SELECT player, rating, games FROM {schema}.leaderboard
WHERE game = $1 AND rating <= $2 AND (rating < $2 OR games < $3 OR (games = $3 AND player > $4))
ORDER BY rating DESC, games DESC, player LIMIT $5
"""
_COUNT_AHEAD = """
SELECT count(*) FROM {schema}.leaderboard
WHERE game = $1 AND rating >= $2 AND (rating > $2 OR games > $3 OR (games = $3 AND player < $4))
"""
_STANDING = "SELECT player, rating, games FROM {schema}.leaderboard WHERE game = $1 AND player = $2"


class Standing(Struct, frozen=True):
    """Where a player stands: rank from 1, rating in thousandths, rated games."""

    rank: int
    player: str
    rating: int
    games: int

    @property
    def key(self) -> tuple[int, int, str]:
        """The parts of the total order."""
        return self.rating, self.games, self.player


class Leaderboards(Projection):
    """The ratings of every game."""

    NAME: ClassVar = "leaderboards"
    VERSION: ClassVar = 1
    TABLES: ClassVar = {
        "leaderboard_matches": "match_id",
        "leaderboard": "game, player",
        "leaderboard_changes": "match_id, player",
    }

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the ratings."""
        batch = [recorded for recorded in batch if recorded.event.stream.startswith("m_")]
        streams = list({recorded.event.stream for recorded in batch})
        if not streams:
            return
        records = await connection.fetch(self.sql(_LOAD), streams)
        contests: dict[str, Contest | None] = {record["match_id"]: _contest(record) for record in records}
        changed: set[str] = set()
        results: list[Contest] = []
        for recorded in batch:
            match = recorded.event.stream
            before = contests.get(match)
            after = evolve(before, recorded)
            if after is before:
                continue
            contests[match] = after
            changed.add(match)
            if after is not None and after.ended_position is not None:
                results.append(after)
            elif after is None and before is not None and before.ended_position is not None:
                await self._write(connection, contests, changed, results)
                await self._take_back(connection, before.game, before.ended_position)
                changed, results = set(), []
        await self._write(connection, contests, changed, results)

    async def _write(
        self,
        connection: Connection,
        contests: dict[str, Contest | None],
        changed: set[str],
        results: list[Contest],
    ) -> None:
        gone = [match for match in changed if contests[match] is None]
        if gone:
            await connection.execute(self.sql(_DROP), gone)
        rows = [
            (one.match, one.game, one.players, one.settled, one.eliminated_by, one.settled_before,
             one.ended_position, one.places)
            for match in changed if (one := contests[match]) is not None
        ]  # fmt: skip
        if rows:
            await connection.executemany(self.sql(_KEEP), rows)
        if results:
            await self._settle(connection, results)

    async def _settle(self, connection: Connection, results: Sequence[Contest]) -> None:
        """Apply results, which are in log order, to the standings."""
        wanted = {(result.game, player) for result in results for player in result.players}
        records = await connection.fetch(self.sql(_LOAD_STANDINGS), *_columns(wanted, 2))
        standings = {(at["game"], at["player"]): (at["rating"], at["games"]) for at in records}
        changes: list[tuple[str | int, ...]] = []
        for result in results:
            if result.places is None or result.ended_position is None:
                continue
            entries = []
            for player, place in zip(result.players, result.places, strict=True):
                rating, games = standings.get((result.game, player), (ratings.START, 0))
                entries.append(ratings.Entry(player, rating, games, place))
            for change in ratings.rate(entries):
                standings[result.game, change.player] = (change.after, change.games + 1)
                changes.append(
                    (result.game, change.player, result.ended_position, result.match, change.place,
                     change.before, change.after, change.games, change.k, ratings.POLICY)
                )  # fmt: skip
        rows = [(*key, *standing) for key, standing in standings.items()]
        await connection.execute(self.sql(_KEEP_STANDINGS), *_columns(rows, 4))
        await connection.execute(self.sql(_KEEP_CHANGES), *_columns(changes, 10))

    async def _take_back(self, connection: Connection, game: str, position: int) -> None:
        """Take a voided match back: to before it, then forward again over all that came after it."""
        await connection.execute(self.sql(_WIND_BACK), game, position)
        await connection.execute(self.sql(_DROP_NEWCOMERS), game)
        while records := await connection.fetch(self.sql(_LATER), game, position, _REPLAY_PAGE):
            later = [_contest(record) for record in records]
            await self._settle(connection, later)
            position = records[-1]["ended_position"]

    async def page(
        self, connection: Connection, game: str, after: tuple[int, int, str] | None, limit: int
    ) -> list[Standing]:
        """Return up to ``limit`` standings from the top, or from behind the key ``after``."""
        if after is None:
            records = await connection.fetch(self.sql(_TOP), game, limit)
        else:
            records = await connection.fetch(self.sql(_BEHIND), game, *after, limit)
        return await self._ranked(connection, game, records)

    async def around(
        self, connection: Connection, game: str, player: str, neighbours: int
    ) -> tuple[list[Standing], Standing, list[Standing]] | None:
        """Return those right above a player, the player, and those right below; None for a player without a rating."""
        record = await connection.fetchrow(self.sql(_STANDING), game, player)
        if record is None:
            return None
        key = (record["rating"], record["games"], player)
        above = await connection.fetch(self.sql(_AHEAD), game, *key, neighbours)
        below = await connection.fetch(self.sql(_BEHIND), game, *key, neighbours)
        ranked = await self._ranked(connection, game, [*reversed(above), record, *below])
        at = len(above)
        return ranked[:at], ranked[at], ranked[at + 1 :]

    async def _ranked(
        self, connection: Connection, game: str, records: Sequence[asyncpg.Record]
    ) -> list[Standing]:
        if not records:
            return []
        first = records[0]
        # Counted on each reading: a rank carried along in a cursor would be wrong as soon as somebody moves.
        ahead = await connection.fetchval(
            self.sql(_COUNT_AHEAD), game, first["rating"], first["games"], first["player"]
        )
        return [
            Standing(rank, record["player"], record["rating"], record["games"])
            for rank, record in enumerate(records, start=ahead + 1)
        ]


def _contest(record: asyncpg.Record) -> Contest:
    places = record["places"]
    return Contest(
        match=record["match_id"], game=record["game"], players=tuple(record["players"]),
        settled=record["settled"], eliminated_by=record["eliminated_by"],
        settled_before=record["settled_before"], ended_position=record["ended_position"],
        places=None if places is None else tuple(places),
    )  # fmt: skip


def _columns(rows: Iterable[Sequence[str | int]], width: int) -> list[list[str | int]]:
    """Turn rows into columns, sorted or not as they came; no rows give empty columns."""
    columns: list[list[str | int]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns
