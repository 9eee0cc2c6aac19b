"""The tables of the leaderboards as the fold would leave them after very many matches, filled by COPY.

Ten million matches as events would be some 150 GB of log. What is measured here needs the tables, so the results of the
league are rated one after another by the same arithmetic, and the rows that follow are copied in. That they are the
rows of the fold is shown at a small size, byte for byte (``same_as_folded``).
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, TypeAlias

import asyncpg

from bench.projections.league import GAME, League, chained
from services.contracts.envelope import Head, Recorded
from services.contracts.events.base import Fact
from services.contracts.events.rating import RatedSeat, RatingApplied
from services.contracts.ids import ratings_of
from services.projections.leaderboards import ratings
from services.projections.leaderboards.tables import Leaderboards

Connection: TypeAlias = "asyncpg.Connection[Any]"

CHUNK_ROWS: Final = 200_000
EVENTS_A_MATCH: Final = 30
"""How far the ends of two matches are apart in the log that this stands for."""

CHANGES: Final = (
    "position", "before", "after", "version", "seat", "place", "games", "k", "policy", "revision", "game", "player",
    "match_id",
)  # fmt: skip
_SCHEMA: Final = "macao_projections"
_INDEXES = """
SELECT indexname, indexdef, contype, conname, pg_get_constraintdef(c.oid) AS definition FROM pg_indexes
LEFT JOIN pg_constraint AS c ON c.conindid = format('%I.%I', schemaname, indexname)::regclass
WHERE schemaname = $1 AND tablename = $2
"""


class Filler:
    """Rates a league and keeps what the tables will hold.

    The log in which these matches ended is not there; their positions are below all that it will have.
    """

    def __init__(self, league: League, matches: int) -> None:
        self._league = league
        self._first = -matches * EVENTS_A_MATCH
        self._standings: dict[str, tuple[int, int, int]] = {}
        self._matches = 0

    @property
    def players(self) -> int:
        """How many have a rating by now."""
        return len(self._standings)

    def rated(self) -> RatingApplied:
        """Rate the next match."""
        players, places = self._league.result()
        self._matches += 1
        position = self._first + self._matches * EVENTS_A_MATCH
        entries: list[ratings.Entry] = []
        for player, place in zip(players, places, strict=True):
            rating, games, _ = self._standings.get(player, (ratings.START, 0, 0))
            entries.append(ratings.Entry(player, rating, games, place))
        seats: list[RatedSeat] = []
        for change in ratings.rate(entries):
            self._standings[change.player] = (change.after, change.games + 1, position)
            seats.append(
                RatedSeat(change.player, change.place, change.games, change.k, change.before, change.after)
            )
        return RatingApplied(
            self._league.match_id(), GAME, position, EVENTS_A_MATCH, ratings.POLICY, 0, tuple(seats)
        )

    def standing_rows(self) -> Iterable[tuple[object, ...]]:
        """Return rating, position, games, provisional, game and player of everybody."""
        for player, (rating, games, position) in self._standings.items():
            yield rating, position, games, ratings.is_provisional(games), GAME, player

    def count_rows(self) -> Iterable[tuple[object, ...]]:
        """Return how many players stand on each point."""
        counts = Counter(
            (rating // ratings.THOUSANDTHS, ratings.is_provisional(games))
            for rating, games, _ in self._standings.values()
        )
        for (points, provisional), players in counts.items():
            yield players, points, provisional, GAME


async def fill(connection: Connection, league: League, matches: int) -> int:
    """Fill the tables with so many matches; return how many players have a rating."""
    filler = Filler(league, matches)
    tables = ("leaderboard_changes", "leaderboard", "leaderboard_counts")
    begun = perf_counter()
    rebuild = [await _drop_indexes(connection, table) for table in tables]
    rows: list[tuple[object, ...]] = []
    for number in range(1, matches + 1):
        told = filler.rated()
        rows += change_rows(told)
        if len(rows) >= CHUNK_ROWS or number == matches:
            await connection.copy_records_to_table(
                "leaderboard_changes", records=rows, columns=CHANGES, schema_name=_SCHEMA
            )
            rows = []
            print(
                f"\r{number:,} of {matches:,} matches rated, {perf_counter() - begun:,.0f} s",
                end="",
                flush=True,
            )
    await connection.copy_records_to_table(
        "leaderboard", records=filler.standing_rows(), schema_name=_SCHEMA,
        columns=("rating", "position", "games", "provisional", "game", "player"),
    )  # fmt: skip
    await connection.copy_records_to_table(
        "leaderboard_counts", records=filler.count_rows(), schema_name=_SCHEMA,
        columns=("players", "points", "provisional", "game"),
    )  # fmt: skip
    for statements in rebuild:
        for statement in statements:
            await connection.execute(statement)
    for table in tables:
        await connection.execute(f"VACUUM ANALYZE {_SCHEMA}.{table}")
    print(f"\n{filler.players:,} players; filled in {perf_counter() - begun:,.0f} s")
    return filler.players


def change_rows(told: RatingApplied) -> list[tuple[object, ...]]:
    """Return the rows of an application, in the order of ``CHANGES``."""
    return [
        (told.position, seat.before, seat.after, told.version, number, seat.place, seat.games, seat.k, told.policy,
         told.revision, told.game, seat.player, told.match)
        for number, seat in enumerate(told.seats)
    ]  # fmt: skip


async def _drop_indexes(connection: Connection, table: str) -> list[str]:
    """Drop a table's indexes; return the statements that make them again."""
    again: list[str] = []
    for row in await connection.fetch(_INDEXES, _SCHEMA, table):
        if row["conname"] is None:
            await connection.execute(f"DROP INDEX {_SCHEMA}.{row['indexname']}")
            again.append(row["indexdef"])
        else:
            await connection.execute(f"ALTER TABLE {_SCHEMA}.{table} DROP CONSTRAINT {row['conname']}")
            again.append(f"ALTER TABLE {_SCHEMA}.{table} ADD CONSTRAINT {row['conname']} {row['definition']}")
    return again


async def same_as_folded(connection: Connection, matches: int = 300) -> None:
    """See that what is copied is what the fold would have written, at a small size.

    Raises:
        RuntimeError: it is not.
    """
    boards = Leaderboards()
    await boards.clear(connection)
    filler = Filler(League(40, seed=7), matches)
    records: list[Recorded] = []
    head = Head()
    for number in range(matches):
        told = filler.rated()
        facts: list[Fact] = [told]
        (event,) = chained(ratings_of(GAME), head, "ratings", None, facts, number)
        head = event.head
        records.append(Recorded(told.position + 1, event))
    for at in range(0, matches, 50):
        async with connection.transaction():
            await boards.apply(connection, records[at : at + 50])
    folded = await _contents(connection)
    await boards.clear(connection)
    await fill(connection, League(40, seed=7), matches)
    copied = await _contents(connection)
    await boards.clear(connection)
    if folded != copied:
        raise RuntimeError("what is copied is not what would be folded")


async def _contents(connection: Connection) -> bytes:
    out = io.BytesIO()
    for table, order in Leaderboards.TABLES.items():
        if table != "leaderboard_streams":
            await connection.copy_from_query(f"SELECT * FROM {_SCHEMA}.{table} ORDER BY {order}", output=out)
    return out.getvalue()
