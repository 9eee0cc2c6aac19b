"""The history of matches in PostgreSQL, and the figures that are counted over it when somebody asks."""

from __future__ import annotations

from typing import ClassVar

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.projections.history.fold import TYPES, Row, evolve
from services.projections.history.tally import FIGURES
from services.projections.projection import Connection, Projection

_LOAD = "SELECT * FROM {schema}.history WHERE match_id = ANY($1)"
_KEEP = """
INSERT INTO {schema}.history
    (match_id, table_id, game, players, bots, rated, visibility, started_position, started_at_ms, rounds_won,
     rounds, eliminated, status, places, ended_at_ms, ended_position, bank, tally)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
ON CONFLICT (match_id) DO UPDATE SET
    rounds_won = excluded.rounds_won, rounds = excluded.rounds, eliminated = excluded.eliminated,
    status = excluded.status, places = excluded.places, ended_at_ms = excluded.ended_at_ms,
    ended_position = excluded.ended_position, bank = excluded.bank, tally = excluded.tally
"""
_KEEP_SEAT = """
INSERT INTO {schema}.history_seats (player, started_position, match_id, seat) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
"""

# Private matches show to their own players alone ($2: whether such a one asks).
_PAGE = """
SELECT history.*, seat.seat, change.before, change.after
FROM {schema}.history_seats AS seat
JOIN {schema}.history USING (match_id)
LEFT JOIN {schema}.leaderboard_changes AS change ON change.match_id = seat.match_id AND change.seat = seat.seat
WHERE seat.player = $1 AND ($2 OR history.visibility = 'public') AND seat.started_position < $3
ORDER BY seat.started_position DESC LIMIT $4
"""
_FIGURES = ",\n    ".join(
    f"sum(tally[seat * {len(FIGURES)} + {at}])::bigint AS {figure}"
    for at, figure in enumerate(FIGURES, start=1)
)
# A streak is a run of wins, in the order in which matches ended: within it, the number among all matches and the number
# among the matches won go up together, so that their difference stays the same.
_STATISTICS = f"""
WITH mine AS (
    SELECT game, rated, seat, tally, places[seat + 1] AS place, seat = ANY(eliminated) AS eliminated, rounds,
        rounds_won[seat + 1] AS rounds_won,
        row_number() OVER (PARTITION BY game ORDER BY ended_position) AS number
    FROM {{schema}}.history_seats JOIN {{schema}}.history USING (match_id)
    WHERE player = $1 AND status = 'ended' AND ($2 OR visibility = 'public')
), won AS (
    SELECT game, number, number - row_number() OVER (PARTITION BY game ORDER BY number) AS run
    FROM mine WHERE place = 1
), streaks AS (
    SELECT game, count(*) AS length, max(number) AS last FROM won GROUP BY game, run
), total AS (
    SELECT game, count(*) AS matches, count(*) FILTER (WHERE rated) AS rated,
        count(*) FILTER (WHERE place = 1) AS wins, count(*) FILTER (WHERE eliminated) AS eliminated,
        sum(rounds)::bigint AS rounds, sum(rounds_won)::bigint AS rounds_won, array_agg(place ORDER BY place) AS places,
    {_FIGURES}
    FROM mine GROUP BY game
)
SELECT total.*,
    coalesce((SELECT max(length) FROM streaks WHERE streaks.game = total.game), 0) AS streak_longest,
    coalesce((SELECT length FROM streaks WHERE streaks.game = total.game AND last = matches), 0) AS streak
FROM total ORDER BY game
"""  # noqa: S608 - no value in it


class Entry(Struct, frozen=True):
    """A match in a player's history: the match, the player's seat, and the rating before and after where it counted."""

    row: Row
    seat: int
    before: int | None
    after: int | None


class Figures(Struct, frozen=True):
    """What is counted over the ended matches of a player in one game.

    Attributes:
        places: the number of times by place.
        streak: wins since the last match that was not won; ``streak_longest``: the most wins in a row.
        busts: rolls beyond the target.
        calls: times that "Macao!" was said.
        catches: times that others were caught who had not said it; ``caught``: times caught, or fined for it.
        stacked: plays that opened or raised a penalty.
        penalty_cards: cards taken for penalties.
        chips: won less lost, in games with chips.
        points: counted for cards left in the hand, in games with points.
    """

    game: str
    matches: int
    rated: int
    wins: int
    eliminated: int
    rounds: int
    rounds_won: int
    places: dict[str, int]
    streak: int
    streak_longest: int
    busts: int
    calls: int
    catches: int
    caught: int
    stacked: int
    penalty_cards: int
    chips: int
    points: int


class History(Projection):
    """Every match, by player."""

    NAME: ClassVar = "history"
    VERSION: ClassVar = 2
    TABLES: ClassVar = {"history": "match_id", "history_seats": "player, started_position, seat"}
    TYPES: ClassVar = TYPES
    STREAMS_ARE_INDEPENDENT: ClassVar = True

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the history."""
        batch = [recorded for recorded in batch if recorded.event.type in TYPES]
        if not batch:
            return
        streams = list({recorded.event.stream for recorded in batch})
        records = await connection.fetch(self.sql(_LOAD), streams)
        rows: dict[str, Row] = {record["match_id"]: _row(record) for record in records}
        known = set(rows)
        changed: set[str] = set()
        for recorded in batch:
            match = recorded.event.stream
            before = rows.get(match)
            after = evolve(before, recorded)
            if after is not None and after is not before:
                rows[match] = after
                changed.add(match)
        await connection.executemany(self.sql(_KEEP), [_values(rows[match]) for match in sorted(changed)])
        await connection.executemany(
            self.sql(_KEEP_SEAT),
            [
                (player, rows[match].started_position, match, seat)
                for match in sorted(changed - known)
                for seat, player in enumerate(rows[match].players)
                if rows[match].bots[seat] is None
            ],
        )

    async def page(
        self, connection: Connection, player: str, before: int, limit: int, *, private: bool
    ) -> list[Entry]:
        """Return a player's matches, newest first, from those that started before a position of the log."""
        records = await connection.fetch(self.sql(_PAGE), player, private, before, limit)
        return [Entry(_row(record), record["seat"], record["before"], record["after"]) for record in records]

    async def figures(self, connection: Connection, player: str, *, private: bool) -> list[Figures]:
        """Return what is counted over a player's ended matches, by game."""
        records = await connection.fetch(self.sql(_STATISTICS), player, private)
        return [_figures(record) for record in records]


def _figures(record: asyncpg.Record) -> Figures:
    places: dict[str, int] = {}
    for place in record["places"]:
        places[str(place)] = places.get(str(place), 0) + 1
    return Figures(
        game=record["game"], matches=record["matches"], rated=record["rated"], wins=record["wins"],
        eliminated=record["eliminated"], rounds=record["rounds"], rounds_won=record["rounds_won"], places=places,
        streak=record["streak"], streak_longest=record["streak_longest"],
        **{figure: record[figure] for figure in FIGURES},
    )  # fmt: skip


def _row(record: asyncpg.Record) -> Row:
    places = record["places"]
    return Row(
        match=record["match_id"], table=record["table_id"], game=record["game"],
        players=tuple(record["players"]), bots=tuple(record["bots"]), rated=record["rated"],
        visibility=record["visibility"], started_position=record["started_position"],
        started_at_ms=record["started_at_ms"], rounds_won=tuple(record["rounds_won"]), rounds=record["rounds"],
        eliminated=tuple(record["eliminated"]), status=record["status"],
        places=None if places is None else tuple(places), ended_at_ms=record["ended_at_ms"],
        ended_position=record["ended_position"], bank=record["bank"], tally=tuple(record["tally"]),
    )  # fmt: skip


def _values(row: Row) -> tuple[object, ...]:
    return (
        row.match, row.table, row.game, row.players, row.bots, row.rated, row.visibility, row.started_position,
        row.started_at_ms, row.rounds_won, row.rounds, row.eliminated, row.status, row.places, row.ended_at_ms,
        row.ended_position, row.bank, row.tally,
    )  # fmt: skip
