"""Looks through a whole database: every table, every column, texts and bytes alike."""

from hashlib import sha256
from typing import Any

import asyncpg

_COLUMNS = """
SELECT c.table_schema AS schema, c.table_name AS name, c.column_name AS field, c.data_type = 'bytea' AS bytes
FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2, c.ordinal_position
"""


async def places_of(database: str, wanted: str) -> list[str]:
    """Return the columns in which a text stands, whatever its capitals, as ``schema.table.column``."""
    connection: Any = await asyncpg.connect(database)
    try:
        columns = await connection.fetch(_COLUMNS)
        assert len(columns) > 200, "the database is not migrated"
        found = []
        for schema, name, field, is_bytes in columns:
            text = f"encode(\"{field}\", 'escape')" if is_bytes else f'"{field}"::text'
            if await connection.fetchval(
                f'SELECT EXISTS (SELECT FROM "{schema}"."{name}" WHERE strpos(lower({text}), lower($1)) > 0)',
                wanted,
            ):
                found.append(f"{schema}.{name}.{field}")
        return found
    finally:
        await connection.close()


async def log_of(database: str, events: int = 1 << 62) -> tuple[int, str]:
    """Return how many events the log has, at most so many, and a digest over them, all columns."""
    connection: Any = await asyncpg.connect(database)
    try:
        rows = await connection.fetch(
            "SELECT e::text FROM macao_log.events AS e ORDER BY position LIMIT $1", events
        )
        return len(rows), sha256("\n".join(row[0] for row in rows).encode()).hexdigest()
    finally:
        await connection.close()
