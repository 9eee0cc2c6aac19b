"""The board: every table's newest state in one row, for lists and for finding what is outstanding.

It follows the log and may be milliseconds behind it; whoever asks for one table is answered from the log itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.contracts.events.catalogue import TableFact, fact_of
from services.contracts.events.table import TableOpened
from services.contracts.ids import TABLE, is_id
from services.lobby.tables.table import Table, evolve, opened
from services.runtime.database import Database

if TYPE_CHECKING:
    from asyncpg import Connection, Pool

    from services.runtime.connection import AnyConnection

NAME: Final = "lobby-tables"
VERSION: Final = 1
GRACE_SECONDS: Final = 2
"""How old a request is before others than the one who made it ask the engine."""

COMMIT_SECONDS: Final = 0.05

State = Literal["open", "playing", "closed"]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Table).decode

_STORE: Final = """
INSERT INTO macao_lobby.tables AS t (
    id, game, state, visibility, version, match, match_state, requested_at, document,
    changed_at_ms, seats, taken, quick_min, enough_since_ms, bots
) VALUES (
    $1, $2, $3, $4, $5, $6, CASE WHEN $6::text IS NOT NULL THEN 'requested' END,
    CASE WHEN $6::text IS NOT NULL THEN now() END, $7,
    $8, $9, $10, $11, CASE WHEN $10::int >= $11::int THEN $8::bigint END, $12
) ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, visibility = excluded.visibility, version = excluded.version, match = excluded.match,
    match_state = excluded.match_state, requested_at = excluded.requested_at, document = excluded.document,
    changed_at_ms = excluded.changed_at_ms, seats = excluded.seats, taken = excluded.taken,
    quick_min = excluded.quick_min, bots = excluded.bots,
    enough_since_ms = CASE WHEN excluded.enough_since_ms IS NOT NULL
        THEN coalesce(t.enough_since_ms, excluded.enough_since_ms) END
"""

# How far the board is, as a position of the main log, in which all tables are. Where there are several logs, its own
# position is one of the reading order: it covers what the stretches of the main log before it cover.
_REACHED: Final = """
WITH board AS (
    SELECT position FROM macao_log.subscriptions WHERE name = $1 AND version = $2
)
SELECT CASE
    WHEN NOT EXISTS (SELECT FROM board) THEN 0
    WHEN NOT EXISTS (SELECT FROM macao_runtime.reading_order) THEN (SELECT min(position) FROM board)
    ELSE coalesce((
        SELECT log_position - greatest(0, one.position - (SELECT min(position) FROM board))
        FROM macao_runtime.reading_order AS one
        WHERE one.log = 'main' AND one.position - one.events < (SELECT min(position) FROM board)
        ORDER BY one.log_position DESC LIMIT 1
    ), 0)
END
"""

_MATCH_STATES: Final = {"match-started": "begun", "match-ended": "over", "match-voided": "over"}


class Outstanding(Struct, frozen=True):
    """A table whose match is to be begun, or is over."""

    table: str
    over: bool


class FillingTable(Struct, frozen=True):
    """A table that quick match fills.

    Attributes:
        changed_at_ms: when something last happened there, Unix time.
        enough_since_ms: since when as many sit there as the game needs, None while they do not.
    """

    table: Table
    changed_at_ms: int
    enough_since_ms: int | None


class Board:
    """Reads and writes the board."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed = asyncio.Event()

    async def forget(self, connection: Connection[Any]) -> None:
        """Empty the board."""
        await connection.execute("DELETE FROM macao_lobby.tables")

    async def apply(self, connection: Connection[Any], batch: list[Recorded]) -> None:
        """Bring the board forward by a page of the log; for the subscription."""
        tables: dict[str, tuple[Table, int]] = {}
        for recorded in batch:
            event = recorded.event
            if is_id(TABLE, event.stream):
                fact = cast("TableFact", fact_of(event))
                if isinstance(fact, TableOpened):
                    table = opened(event.stream, fact)
                else:
                    before = tables.get(event.stream)
                    table = evolve(before[0] if before else await _stored(connection, event.stream), fact)
                tables[event.stream] = (table, event.at_ms)
                if event.type == "match-requested":
                    # Quick match sends nobody to a table that has started.
                    await connection.execute(
                        "DELETE FROM macao_lobby.quick_tables WHERE id = $1", event.stream
                    )
                if event.type in ("match-requested", "match-finished", "table-opened"):
                    # The next event may be about the match, and looks for it in the table's row.
                    await _store(connection, *tables.pop(event.stream))
            elif event.type in _MATCH_STATES:
                await connection.execute(
                    "UPDATE macao_lobby.tables SET match_state = $2 WHERE match = $1",
                    event.stream,
                    _MATCH_STATES[event.type],
                )
                # This is told before its transaction is committed; a moment later there is something to see.
                asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._changed.set)
        for table, at_ms in tables.values():
            await _store(connection, table, at_ms)

    async def page(self, *, game: str | None, state: State, before: str | None, limit: int) -> list[Table]:
        """Return public tables, newest first, those older than the table ``before``."""
        rows = await self._database.pool.fetch(
            "SELECT document FROM macao_lobby.tables WHERE visibility = 'public' AND state = $1"
            " AND ($2::text IS NULL OR game = $2) AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
            state,
            game,
            before,
            limit,
        )
        return [_decode(row["document"]) for row in rows]

    async def joinable(self, game: str, changed_after_ms: int, limit: int) -> list[Table]:
        """Return public open tables where something happened lately and one seat is free, the oldest first."""
        rows = await self._database.pool.fetch(
            "SELECT document FROM macao_lobby.tables WHERE visibility = 'public' AND state = 'open' AND game = $1"
            " AND seats - taken = 1 AND quick_min IS NULL AND changed_at_ms > $2 ORDER BY id LIMIT $3",
            game,
            changed_after_ms,
            limit,
        )
        return [_decode(row["document"]) for row in rows]

    async def filling(self, limit: int) -> list[FillingTable]:
        """Return tables that quick match fills, the oldest first."""
        rows = await self._database.pool.fetch(
            "SELECT document, changed_at_ms, enough_since_ms FROM macao_lobby.tables WHERE quick_min IS NOT NULL"
            " ORDER BY id LIMIT $1",
            limit,
        )
        return [FillingTable(_decode(row[0]), row[1], row[2]) for row in rows]

    async def untouched(self, before_ms: int, limit: int) -> list[str]:
        """Return open tables at which nothing has happened since a moment (Unix time), the longest untouched first."""
        rows = await self._database.pool.fetch(
            "SELECT id FROM macao_lobby.tables WHERE state = 'open' AND changed_at_ms < $1"
            " ORDER BY changed_at_ms LIMIT $2",
            before_ms,
            limit,
        )
        return [row["id"] for row in rows]

    async def outstanding(self, limit: int) -> list[Outstanding]:
        """Return tables whose match is over, or was requested a while ago and has not begun."""
        rows = await self._database.pool.fetch(
            "SELECT id, match_state = 'over' AS over FROM macao_lobby.tables WHERE match_state = 'over'"
            " OR (match_state = 'requested' AND requested_at < now() - $2 * interval '1 second')"
            " ORDER BY requested_at LIMIT $1",
            limit,
            GRACE_SECONDS,
        )
        return [Outstanding(row["id"], row["over"]) for row in rows]

    async def wait(self, timeout_seconds: float) -> None:
        """Wait until this process has seen a match begin or end, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._changed.wait()
        self._changed.clear()


async def reached(source: AnyConnection | Pool[Any]) -> int:
    """Return how far the board is, as a position of the main log."""
    position: int = await source.fetchval(_REACHED, NAME, VERSION)
    return position


async def _stored(connection: Connection[Any], table: str) -> Table:
    return _decode(await connection.fetchval("SELECT document FROM macao_lobby.tables WHERE id = $1", table))


async def _store(connection: Connection[Any], table: Table, at_ms: int) -> None:
    await connection.execute(
        _STORE,
        table.id,
        table.game,
        table.state,
        table.settings.visibility,
        table.version,
        table.match if table.state == "playing" else None,
        _encode(table),
        at_ms,
        len(table.seats),
        len(table.seated),
        table.quick_min,
        sum(seat.bot is not None for seat in table.seated),
    )
