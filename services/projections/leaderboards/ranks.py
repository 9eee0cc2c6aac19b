"""Ranks as they are read: pages in the one total order, and a player among neighbours.

The order of a board: rating, then rated games, both falling, then the player's id. A rank is one more than the number
of players ahead, counted on each reading (a rank carried along in a cursor would be wrong as soon as somebody moves):
the counts of the points above are added up, and only on the player's own point rows are counted.

Players whose rating is provisional stand apart in the index, so a board of either kind, or of both, is read in order.
Where there is an inequality over several columns it is spelled out as ranges, which an index can walk without looking
at rows that it does not want.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import asyncpg
from msgspec import Struct

from services.projections.leaderboards.ratings import THOUSANDTHS
from services.projections.leaderboards.tables import Leaderboards
from services.projections.projection import Connection

Players = Literal["all", "established", "provisional"]
"""Whose ranks a board shows."""

_KINDS: Final[dict[Players, tuple[bool, ...]]] = {
    "all": (False, True),
    "established": (False,),
    "provisional": (True,),
}
_FALLING: Final = "ORDER BY rating DESC, games DESC, player"
_RISING: Final = "ORDER BY rating, games, player DESC"

# Each is one walk of the index (game, provisional, rating DESC, games DESC, player).
_TOP: Final = ("",)
_BEHIND: Final = (
    "AND rating = $2 AND games = $3 AND player > $4",
    "AND rating = $2 AND games < $3",
    "AND rating < $2",
)
_AHEAD: Final = (
    "AND rating = $2 AND games = $3 AND player < $4",
    "AND rating = $2 AND games > $3",
    "AND rating > $2",
)
_AHEAD_ON_POINT: Final = (*_AHEAD[:2], "AND rating > $2 AND rating < $5")

_STANDING: Final = (
    "SELECT player, rating, games, provisional FROM {schema}.leaderboard WHERE game = $1 AND player = $2"
)

Key = tuple[int, int, str]
"""Rating, games, player: a place in the order."""


class Ranking(Struct, frozen=True):
    """A line of a board: rank from 1, rating in thousandths, rated games."""

    rank: int
    player: str
    rating: int
    games: int
    provisional: bool

    @property
    def key(self) -> Key:
        """The parts of the total order."""
        return self.rating, self.games, self.player


class Ranks:
    """The boards over the tables of the leaderboards."""

    def __init__(self, boards: Leaderboards) -> None:
        self._boards = boards

    async def page(
        self, connection: Connection, game: str, after: Key | None, limit: int, players: Players = "all"
    ) -> list[Ranking]:
        """Return up to ``limit`` lines from the top, or from behind the key ``after``."""
        ranges, arguments = (_TOP, ()) if after is None else (_BEHIND, after)
        found = await self._walk(connection, ranges, _FALLING, limit, players, game, *arguments)
        return await self._ranked(connection, game, found, players)

    async def around(
        self, connection: Connection, game: str, player: str, neighbours: int, players: Players = "all"
    ) -> tuple[list[Ranking], Ranking, list[Ranking]] | None:
        """Return those right above a player, the player, and those right below.

        None for a player without a rating, or with one of the other kind than is asked for.
        """
        at = await connection.fetchrow(self._boards.sql(_STANDING), game, player)
        if at is None or at["provisional"] not in _KINDS[players]:
            return None
        key = (at["rating"], at["games"], player)
        above: list[asyncpg.Record] = []
        below: list[asyncpg.Record] = []
        if neighbours:
            above = await self._walk(connection, _AHEAD, _RISING, neighbours, players, game, *key)
            below = await self._walk(connection, _BEHIND, _FALLING, neighbours, players, game, *key)
        ranked = await self._ranked(connection, game, [*reversed(above), at, *below], players)
        here = len(above)
        return ranked[:here], ranked[here], ranked[here + 1 :]

    async def _walk(
        self,
        connection: Connection,
        ranges: Sequence[str],
        order: str,
        limit: int,
        players: Players,
        game: str,
        *key: int | str,
    ) -> list[asyncpg.Record]:
        """Return the first rows of several ranges together; each range gives at most as many as are wanted."""
        kinds = _KINDS[players]
        walks = [
            f"(SELECT player, rating, games, provisional FROM {{schema}}.leaderboard "  # noqa: S608 - no value in it
            f"WHERE game = $1 AND provisional = {provisional} {condition} {order} LIMIT {limit:d})"
            for provisional in kinds
            for condition in ranges
        ]
        sql = f"SELECT * FROM ({' UNION ALL '.join(walks)}) AS found {order} LIMIT {limit:d}"  # noqa: S608 - as above
        return await connection.fetch(self._boards.sql(sql), game, *key)

    async def _ranked(
        self, connection: Connection, game: str, records: Sequence[asyncpg.Record], players: Players
    ) -> list[Ranking]:
        if not records:
            return []
        ahead = await self._count_ahead(connection, game, records[0], players)
        return [
            Ranking(rank, record["player"], record["rating"], record["games"], record["provisional"])
            for rank, record in enumerate(records, start=ahead + 1)
        ]

    async def _count_ahead(
        self, connection: Connection, game: str, first: asyncpg.Record, players: Players
    ) -> int:
        point = first["rating"] // THOUSANDTHS
        kinds = _KINDS[players]
        parts = [
            f"(SELECT coalesce(sum(players), 0) FROM {{schema}}.leaderboard_counts "  # noqa: S608 - as above
            f"WHERE game = $1 AND provisional = {provisional} AND points > $6)"
            for provisional in kinds
        ]
        parts += [
            f"(SELECT count(*) FROM {{schema}}.leaderboard "  # noqa: S608 - as above
            f"WHERE game = $1 AND provisional = {provisional} {condition})"
            for provisional in kinds
            for condition in _AHEAD_ON_POINT
        ]
        sql = self._boards.sql(f"SELECT ({' + '.join(parts)})::bigint")
        arguments: tuple[Any, ...] = (
            game, first["rating"], first["games"], first["player"], (point + 1) * THOUSANDTHS, point,
        )  # fmt: skip
        ahead: int = await connection.fetchval(sql, *arguments)
        return ahead
