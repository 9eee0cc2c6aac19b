"""The leaderboards in PostgreSQL: matches, the account of every rating, and where everybody stands.

Nothing is worked out here that an event does not say: what a match did to a rating comes from ``rating-applied``, and
the arithmetic is the writer's (``rater.py``). What this keeps besides is bookkeeping over the account: who stands
where after the last change, how many stand on each point, and which applications no longer begin where the one
before ended. All of it depends on the events alone, not on the pages in which they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Event, Recorded
from services.contracts.events.catalogue import decode
from services.contracts.events.rating import RatingApplied, RatingWithdrawn
from services.contracts.ids import MATCH, RATINGS
from services.projections.leaderboards import ratings
from services.projections.leaderboards.fold import TYPES, Contest, applied, evolve
from services.projections.projection import Connection, Projection

_LOAD = "SELECT * FROM {schema}.leaderboard_matches WHERE match_id = ANY($1)"
_DROP = "DELETE FROM {schema}.leaderboard_matches WHERE match_id = ANY($1)"
_KEEP = """
INSERT INTO {schema}.leaderboard_matches
    (match_id, game, players, settled, eliminated_by, settled_before, ended_position, ended_version, places,
     voided_version, rated)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (match_id) DO UPDATE SET
    players = excluded.players, settled = excluded.settled, eliminated_by = excluded.eliminated_by,
    settled_before = excluded.settled_before,
    ended_position = excluded.ended_position, ended_version = excluded.ended_version, places = excluded.places,
    voided_version = excluded.voided_version, rated = excluded.rated
"""
_APPLIED = "SELECT match_id, game FROM {schema}.leaderboard_changes WHERE match_id = ANY($1) AND seat = 0"
_MOVE_HEAD = """
INSERT INTO {schema}.leaderboard_streams (game, version, hash) VALUES ($1, $2, $3)
ON CONFLICT (game) DO UPDATE SET version = excluded.version, hash = excluded.hash
"""

_KEEP_CHANGES = """
INSERT INTO {schema}.leaderboard_changes
    (position, before, after, version, seat, place, games, k, policy, revision, game, player, match_id)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[], $6::integer[], $7::integer[],
    $8::integer[], $9::integer[], $10::integer[], $11::text[], $12::text[], $13::text[])
ON CONFLICT (match_id, seat) DO UPDATE SET
    before = excluded.before, after = excluded.after, games = excluded.games, k = excluded.k,
    policy = excluded.policy, revision = excluded.revision
"""
_DROP_CHANGES = """
DELETE FROM {schema}.leaderboard_changes WHERE match_id = ANY($1) RETURNING game, player, position
"""
_LAST = """
SELECT wanted.game, wanted.player, last.after AS rating, last.games + 1 AS games, last.position
FROM unnest($1::text[], $2::text[]) AS wanted (game, player)
CROSS JOIN LATERAL (
    SELECT after, games, position FROM {schema}.leaderboard_changes AS change
    WHERE change.game = wanted.game AND change.player = wanted.player ORDER BY position DESC LIMIT 1
) AS last
"""
_NEXT = """
SELECT DISTINCT following.match_id FROM unnest($1::text[], $2::text[], $3::bigint[]) AS at (game, player, position)
CROSS JOIN LATERAL (
    SELECT match_id FROM {schema}.leaderboard_changes AS change
    WHERE change.game = at.game AND change.player = at.player AND change.position > at.position
    ORDER BY position LIMIT 1
) AS following
"""
_MEND = "DELETE FROM {schema}.leaderboard_breaks WHERE match_id = ANY($1)"
_BREAK = """
INSERT INTO {schema}.leaderboard_breaks (game, position, match_id)
SELECT DISTINCT change.game, change.position, change.match_id
FROM {schema}.leaderboard_changes AS change
LEFT JOIN LATERAL (
    SELECT after, games FROM {schema}.leaderboard_changes AS earlier
    WHERE earlier.game = change.game AND earlier.player = change.player AND earlier.position < change.position
    ORDER BY position DESC LIMIT 1
) AS former ON true
WHERE change.match_id = ANY($1)
    AND (change.before, change.games) <> (coalesce(former.after, $2), coalesce(former.games + 1, 0))
"""

_LOAD_STANDINGS = """
SELECT game, player, rating, games, position FROM {schema}.leaderboard
JOIN unnest($1::text[], $2::text[]) AS wanted (game, player) USING (game, player)
"""
_KEEP_STANDINGS = """
INSERT INTO {schema}.leaderboard (rating, position, games, provisional, game, player)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::boolean[], $5::text[], $6::text[])
ON CONFLICT (game, player) DO UPDATE SET
    rating = excluded.rating, position = excluded.position, games = excluded.games, provisional = excluded.provisional
"""
_DROP_STANDINGS = """
DELETE FROM {schema}.leaderboard USING unnest($1::text[], $2::text[]) AS gone (game, player)
WHERE leaderboard.game = gone.game AND leaderboard.player = gone.player
"""
_COUNT = """
INSERT INTO {schema}.leaderboard_counts AS held (players, points, provisional, game)
SELECT * FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::text[])
ON CONFLICT (game, provisional, points) DO UPDATE SET players = held.players + excluded.players
"""
_DROP_EMPTY = """
DELETE FROM {schema}.leaderboard_counts AS held
USING unnest($1::integer[], $2::boolean[], $3::text[]) AS touched (points, provisional, game)
WHERE held.game = touched.game AND held.provisional = touched.provisional AND held.points = touched.points
    AND held.players = 0
"""

_Key = tuple[str, str]
"""Game and player."""


class Standing(Struct, frozen=True):
    """Where a player stands: rating in thousandths, rated games, and where in the log the last of them ended."""

    rating: int
    games: int
    position: int


class Leaderboards(Projection):
    """The ratings of every game."""

    NAME: ClassVar = "leaderboards"
    VERSION: ClassVar = 2
    TABLES: ClassVar = {
        "leaderboard_matches": "match_id",
        "leaderboard_streams": "game",
        "leaderboard_changes": "match_id, seat",
        "leaderboard_breaks": "game, position",
        "leaderboard": "game, player",
        "leaderboard_counts": "game, provisional, points",
    }

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the ratings."""
        told = [recorded for recorded in batch if _concerns(recorded.event)]
        if not told:
            return
        page = _Page(told)
        records = await connection.fetch(self.sql(_LOAD), list(page.matches))
        page.contests = {record["match_id"]: contest_of(record) for record in records}
        if page.voided:
            rows = await connection.fetch(self.sql(_APPLIED), list(page.voided))
            page.applied_before = {row["match_id"]: row["game"] for row in rows}
        page.fold(told)
        await self._keep_contests(connection, page)
        for game, head in page.heads.items():
            await connection.execute(self.sql(_MOVE_HEAD), game, head.version, head.hash)
        if page.applications or page.withdrawn:
            await self._account(connection, page)

    async def _keep_contests(self, connection: Connection, page: _Page) -> None:
        gone = [match for match in page.changed if page.contests[match] is None]
        if gone:
            await connection.execute(self.sql(_DROP), gone)
        rows = [
            (one.match, one.game, one.players, one.settled, one.eliminated_by, one.settled_before,
             one.ended_position, one.ended_version, one.places, one.voided_version, one.rated)
            for match in page.changed if (one := page.contests[match]) is not None
        ]  # fmt: skip
        if rows:
            await connection.executemany(self.sql(_KEEP), rows)

    async def _account(self, connection: Connection, page: _Page) -> None:
        """Take applications and withdrawals into the account, and everything that follows from it."""
        places = [(told.game, seat.player, told.position) for told in page.told for seat in told.seats]
        if page.withdrawn:
            gone = await connection.fetch(self.sql(_DROP_CHANGES), list(page.withdrawn))
            places += [(row["game"], row["player"], row["position"]) for row in gone]
        keys = sorted({(game, player) for game, player, _position in places})
        before = _standings(await connection.fetch(self.sql(_LOAD_STANDINGS), *columns(keys, 2)))
        await connection.execute(
            self.sql(_KEEP_CHANGES),
            *columns((row for told in page.applications.values() for row in _change_rows(told)), 13),
        )
        after = None if page.withdrawn else _continued(before, page.told)
        if after is None:
            await self._find_breaks(connection, page, places)
            after = _standings(await connection.fetch(self.sql(_LAST), *columns(keys, 2)))
        await self._stand(connection, keys, before, after)

    async def _find_breaks(
        self, connection: Connection, page: _Page, places: Collection[tuple[str, str, int]]
    ) -> None:
        """See which applications, of those that changed and those right behind them, do not begin where they should."""
        following = await connection.fetch(self.sql(_NEXT), *columns(places, 3))
        suspects = {*page.applications, *(row["match_id"] for row in following)}
        await connection.execute(self.sql(_MEND), [*suspects, *page.withdrawn])
        await connection.execute(self.sql(_BREAK), list(suspects), ratings.START)

    async def _stand(
        self,
        connection: Connection,
        keys: Sequence[_Key],
        before: dict[_Key, Standing],
        after: dict[_Key, Standing],
    ) -> None:
        """Keep where everybody stands now, and count who stands on which point."""
        moved: Counter[tuple[int, bool, str]] = Counter()
        for key in keys:
            if (old := before.get(key)) is not None:
                moved[_point(key, old)] -= 1
            if (new := after.get(key)) is not None:
                moved[_point(key, new)] += 1
        gone = [key for key in keys if key in before and key not in after]
        if gone:
            await connection.execute(self.sql(_DROP_STANDINGS), *columns(gone, 2))
        await connection.execute(
            self.sql(_KEEP_STANDINGS),
            *columns(
                (
                    (at.rating, at.position, at.games, ratings.is_provisional(at.games), *key)
                    for key, at in after.items()
                ),
                6,
            ),
        )
        counts = sorted((point, by) for point, by in moved.items() if by)
        await connection.execute(self.sql(_COUNT), *columns(((by, *point) for point, by in counts), 4))
        if any(by < 0 for _point, by in counts):
            await connection.execute(
                self.sql(_DROP_EMPTY), *columns((point for point, by in counts if by < 0), 3)
            )


class _Page:
    """What a page of events does to the matches, and what it tells of the ratings."""

    def __init__(self, told: Sequence[Recorded]) -> None:
        self.contests: dict[str, Contest | None] = {}
        self.changed: set[str] = set()
        self.applied_before: dict[str, str] = {}
        self.heads: dict[str, Event] = {}
        self.told: list[RatingApplied] = []
        self.applications: dict[str, RatingApplied] = {}
        self.withdrawn: set[str] = set()
        self._facts = {
            recorded.position: _rating(recorded.event)
            for recorded in told
            if recorded.event.stream.startswith(f"{RATINGS}_")
        }
        self.matches = {recorded.event.stream for recorded in told if recorded.position not in self._facts}
        self.matches |= {fact.match for fact in self._facts.values()}
        self.voided = {recorded.event.stream for recorded in told if recorded.event.type == "match-voided"}

    def fold(self, told: Sequence[Recorded]) -> None:
        """Fold the page, one event after another."""
        for recorded in told:
            fact = self._facts.get(recorded.position)
            if fact is None:
                self._play(recorded)
            else:
                self._rate(fact, recorded.event)

    def _play(self, recorded: Recorded) -> None:
        match = recorded.event.stream
        before = self.contests.get(match)
        if before is None and recorded.event.type == "match-voided":
            game = self._game_applied(match)
            after = None
            if game is not None:
                after = Contest(match, game, voided_version=recorded.event.version, rated=True)
        else:
            after = evolve(before, recorded)
        self._become(match, before, after)

    def _rate(self, fact: RatingApplied | RatingWithdrawn, event: Event) -> None:
        self.heads[fact.game] = event
        before = self.contests.get(fact.match)
        if isinstance(fact, RatingApplied):
            self.told.append(fact)
            self.applications[fact.match] = fact
            self._become(fact.match, before, before if before and before.rated else applied(before))
        else:
            self.applications.pop(fact.match, None)
            self.withdrawn.add(fact.match)
            self._become(fact.match, before, None)

    def _become(self, match: str, before: Contest | None, after: Contest | None) -> None:
        if after is not before:
            self.contests[match] = after
            self.changed.add(match)

    def _game_applied(self, match: str) -> str | None:
        """Return the game of a match that has been applied and not been withdrawn."""
        if match in self.withdrawn:
            return None
        fact = self.applications.get(match)
        return self.applied_before.get(match) if fact is None else fact.game


def _concerns(event: Event) -> bool:
    """Say whether an event may matter here; most are moves, of which only the first of each command does."""
    kind = event.stream[0]
    if kind == MATCH:
        return event.cause is not None or event.type in TYPES
    return kind == RATINGS


def _rating(event: Event) -> RatingApplied | RatingWithdrawn:
    fact = decode(event.type, event.schema, event.body)
    if isinstance(fact, RatingApplied | RatingWithdrawn):
        return fact
    raise TypeError(f"{event.type} in the stream of ratings {event.stream}")


def _continued(before: dict[_Key, Standing], told: Sequence[RatingApplied]) -> dict[_Key, Standing] | None:
    """Return where everybody stands after applications that each begin where the account ended; None for any other."""
    after = dict(before)
    for fact in told:
        for seat in fact.seats:
            key = (fact.game, seat.player)
            at = after.get(key)
            if at is None:
                at = Standing(ratings.START, 0, fact.position - 1)
            if (at.rating, at.games) != (seat.before, seat.games) or at.position >= fact.position:
                return None
            after[key] = Standing(seat.after, seat.games + 1, fact.position)
    return after


def _standings(records: Iterable[asyncpg.Record]) -> dict[_Key, Standing]:
    return {
        (row["game"], row["player"]): Standing(row["rating"], row["games"], row["position"])
        for row in records
    }


def _change_rows(told: RatingApplied) -> Iterable[tuple[int | str, ...]]:
    for number, seat in enumerate(told.seats):
        yield (
            told.position, seat.before, seat.after, told.version, number, seat.place, seat.games, seat.k,
            told.policy, told.revision, told.game, seat.player, told.match,
        )  # fmt: skip


def _point(key: _Key, at: Standing) -> tuple[int, bool, str]:
    return at.rating // ratings.THOUSANDTHS, ratings.is_provisional(at.games), key[0]


def contest_of(record: asyncpg.Record) -> Contest:
    """Read a row of ``leaderboard_matches``."""
    places = record["places"]
    return Contest(
        match=record["match_id"], game=record["game"], players=tuple(record["players"]),
        settled=record["settled"], eliminated_by=record["eliminated_by"],
        settled_before=record["settled_before"], ended_position=record["ended_position"],
        ended_version=record["ended_version"], places=None if places is None else tuple(places),
        voided_version=record["voided_version"], rated=record["rated"],
    )  # fmt: skip


def columns(rows: Iterable[Sequence[object]], width: int) -> list[list[object]]:
    """Turn rows into columns; no rows give empty columns."""
    columns: list[list[object]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns
