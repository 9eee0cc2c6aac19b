"""The lobby board in PostgreSQL: how events become rows, and what is read from them."""

from __future__ import annotations

from typing import ClassVar

import asyncpg
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.projections.board.fold import TYPES, Playing, Row, fold
from services.projections.projection import Connection, Projection

_LOAD = "SELECT * FROM {schema}.board WHERE table_id = ANY($1) OR match_id = ANY($2)"
_KEEP = """
INSERT INTO {schema}.board
    (table_id, game, state, options, players, host, turn_seconds, visibility, rated, opened_at_ms,
     match_id, match_state, match_round, match_at_ms, shown_position, bots)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (table_id) DO UPDATE SET
    state = excluded.state, options = excluded.options, players = excluded.players, host = excluded.host,
    turn_seconds = excluded.turn_seconds, visibility = excluded.visibility, rated = excluded.rated,
    match_id = excluded.match_id, match_state = excluded.match_state, match_round = excluded.match_round,
    match_at_ms = excluded.match_at_ms, shown_position = excluded.shown_position, bots = excluded.bots
"""

# Newest first: ids are ordered by time. The nulls stand for "any".
_PAGE = """
SELECT * FROM {schema}.board
WHERE visibility = 'public' AND state <> 'closed'
    AND ($1::text IS NULL OR game = $1) AND ($2::text IS NULL OR state = $2)
    AND ($3::text IS NULL OR table_id < $3)
ORDER BY table_id DESC LIMIT $4
"""
# Tables that went away are among the changes, so no condition on what is shown now.
_CHANGES = """
SELECT * FROM {schema}.board
WHERE shown_position > $1
ORDER BY shown_position LIMIT $2
"""
_LAST_SHOWN = "SELECT coalesce(max(shown_position), 0) FROM {schema}.board WHERE shown_position > 0"
_POSITION = "SELECT position FROM macao_log.subscriptions WHERE name = $1 AND version = $2"
_BUILT = "SELECT generation, built_position FROM macao_log.subscriptions WHERE name = $1 AND version = $2"
# Taken before the first snapshot of a transaction that reads the board more than once: what it then sees is all of one
# table, also when a rebuild puts another in its place.
_HOLD = "LOCK TABLE {schema}.board IN ACCESS SHARE MODE"


class Change(Struct, frozen=True):
    """A table whose appearance changed at a position of the log, as it stands now."""

    position: int
    row: Row


class Board(Projection):
    """The tables that people may join or watch."""

    NAME: ClassVar = "board"
    VERSION: ClassVar = 1
    TABLES: ClassVar = {"board": "table_id"}
    TYPES: ClassVar = TYPES

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the board."""
        streams = {recorded.event.stream for recorded in batch if recorded.event.type in TYPES}
        if not streams:
            return
        matches = [stream for stream in streams if stream.startswith("m_")]
        records = await connection.fetch(self.sql(_LOAD), list(streams), matches)
        rows = {record["table_id"]: _row(record) for record in records}
        changed = fold(rows, batch)
        if changed:
            await connection.executemany(self.sql(_KEEP), [_values(row) for row in changed.values()])

    async def position(self, connection: Connection) -> int:
        """Return the position of the log up to which the board is worked out."""
        position = await connection.fetchval(_POSITION, self.NAME, self.VERSION)
        return 0 if position is None else int(position)

    async def built(self, connection: Connection) -> tuple[int, int]:
        """Return how often the board was built anew, and the position at which the last build took over."""
        row = await connection.fetchrow(_BUILT, self.NAME, self.VERSION)
        return (0, 0) if row is None else (row["generation"], row["built_position"])

    async def hold(self, connection: Connection) -> None:
        """Keep the table in its place until the transaction ends; goes before everything else in it."""
        await connection.execute(self.sql(_HOLD))

    async def last_shown(self, connection: Connection) -> int:
        """Return the position of the last change that the public could see, 0 before the first."""
        return int(await connection.fetchval(self.sql(_LAST_SHOWN)))

    async def page(
        self, connection: Connection, *, game: str | None, state: str | None, before: str | None, limit: int
    ) -> list[Row]:
        """Return tables of the public board, newest first, from those older than the id ``before``."""
        return [
            _row(record) for record in await connection.fetch(self.sql(_PAGE), game, state, before, limit)
        ]

    async def changes(self, connection: Connection, after: int, limit: int) -> list[Change]:
        """Return the tables whose appearance changed behind a position, in that order; each once, as it stands now."""
        records = await connection.fetch(self.sql(_CHANGES), after, limit)
        return [Change(record["shown_position"], _row(record)) for record in records]


def _row(record: asyncpg.Record) -> Row:
    playing = None
    if record["match_id"] is not None:
        playing = Playing(
            id=record["match_id"], state=record["match_state"], round=record["match_round"],
            started_at_ms=record["match_at_ms"],
        )  # fmt: skip
    players = tuple(record["players"])
    return Row(
        id=record["table_id"], game=record["game"], state=record["state"], options=record["options"],
        players=players, bots=tuple(record["bots"]) or (None,) * len(players), host=record["host"],
        turn_seconds=record["turn_seconds"], visibility=record["visibility"], rated=record["rated"],
        opened_at_ms=record["opened_at_ms"], playing=playing, shown_position=record["shown_position"],
    )  # fmt: skip


def _values(row: Row) -> tuple[object, ...]:
    playing = row.playing
    match = (playing.id, playing.state, playing.round, playing.started_at_ms) if playing else (None,) * 4
    return (
        row.id, row.game, row.state, row.options, row.players, row.host, row.turn_seconds, row.visibility,
        row.rated, row.opened_at_ms, *match, row.shown_position,
        row.bots if any(row.bots) else (),
    )  # fmt: skip
