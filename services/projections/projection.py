"""What a projection is to the machinery that feeds it.

Its tables stand in one schema, and its code names that schema nowhere but here: a second set of the same
tables, filled behind the served one, is the same code with another schema.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, TypeAlias

import asyncpg

from services.contracts.envelope import Recorded

SERVED: Final = "macao_projections"

# asyncpg's pool lends connections under another type than the one that it opens.
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)


class Projection:
    """A fold and its tables.

    Attributes:
        NAME: under which its checkpoint stands, and which operators use.
        VERSION: raised when the same events give other rows; the tables are then built again.
        TABLES: each table with the columns that order it, to compare and to clear.
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[int]
    TABLES: ClassVar[dict[str, str]]

    def __init__(self, schema: str = SERVED) -> None:
        self._schema = schema

    def sql(self, text: str) -> str:
        """Return a statement with ``{schema}`` filled in."""
        return text.replace("{schema}", self._schema)

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the tables, in the transaction that the connection is in and that moves the checkpoint."""
        raise NotImplementedError

    async def clear(self, connection: Connection) -> None:
        """Empty the tables, in the transaction that sets the checkpoint back."""
        for table in self.TABLES:
            await connection.execute(self.sql("DELETE FROM {schema}.") + table)


def numbers(record: asyncpg.Record, column: str) -> tuple[Any, ...]:
    """Return an array column as a tuple."""
    return tuple(record[column])
