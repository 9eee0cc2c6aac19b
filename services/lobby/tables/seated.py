"""Where a player sits, whether or not a lobby is running: by the board, and by what of the log is not on it yet."""

from __future__ import annotations

from typing import Any, Final

from asyncpg import Pool

from services.contracts.events.table import PlayerJoined, TableOpened
from services.lobby.tables.board import reached
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.runtime.connection import AnyConnection

_BOARD: Final = """
SELECT id FROM macao_lobby.tables WHERE state <> 'closed' AND position($1 IN document) > 0
"""

_TYPES: Final = [str(fact.__struct_config__.tag) for fact in (TableOpened, PlayerJoined)]

_BEHIND: Final = """
SELECT DISTINCT stream FROM macao_log.events WHERE position > $1 AND type = ANY($2) AND position($3 IN body) > 0
"""


async def tables_of(source: AnyConnection | Pool[Any], streams: TableStreams, player: str) -> list[Table]:
    """Return the tables that are not closed and at which a player sits, as the log has them now.

    It looks at every table that is not closed, and at all events that the board has not worked off.
    """
    begun = await reached(source)  # before the board is read, which may move on meanwhile
    rows = await source.fetch(_BOARD, player.encode())
    rows += await source.fetch(_BEHIND, begun, _TYPES, player.encode())
    found: list[Table] = []
    for table in sorted({row[0] for row in rows}):
        loaded = await streams.load(table)
        if loaded is not None and loaded.table.state != "closed" and loaded.table.seat_of(player) is not None:
            found.append(loaded.table)
    return found
