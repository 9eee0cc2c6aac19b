"""What a projection is to the machinery that feeds it.

Its tables stand in one schema, and its code names that schema nowhere but here: a second set of the same
tables, filled behind the served one, is the same code with another schema (``rebuilding``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final, TypeAlias

import asyncpg

from services.contracts.envelope import Recorded

SERVED: Final = "macao_projections"
NEXT: Final = "macao_projections_next"
"""Where tables are built anew."""

# asyncpg's pool lends connections under another type than the one that it opens.
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)


class Projection(ABC):
    """A fold and its tables.

    What the machinery demands of ``apply``: rows are a function of the events alone (no clock, no sequence, no
    memory of the object that is not read back from the tables), whatever the size of the batches; and everything is
    read and written by the connection that is given, so that it is committed with the checkpoint or not at all.

    Attributes:
        NAME: under which its checkpoint stands, and which operators use.
        VERSION: raised when the same events give other rows; the tables are then built again.
        TABLES: each table with the columns that are its key, to compare and to clear.
        TYPES: the types of events that can change a row; None where others may, too. A build is given no others.
        STREAMS_ARE_INDEPENDENT: whether events of one stream give the same rows whenever those of other streams come.
            A parked stream can then be let in later, behind others; where the order among streams matters, letting
            it in means to build the tables again.
        SLICES: into how many parts the streams are divided, each with a checkpoint and a lead of its own, so that
            several processes work side by side. More than one needs independent streams, and another number needs
            another VERSION: a checkpoint says nothing of another cut (docs/adr/0009-slices.md).
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[int]
    TABLES: ClassVar[dict[str, str]]
    TYPES: ClassVar[frozenset[str] | None] = None
    STREAMS_ARE_INDEPENDENT: ClassVar[bool] = False
    SLICES: ClassVar[int] = 1

    def __init__(self, schema: str = SERVED) -> None:
        self._schema = schema

    def sql(self, text: str) -> str:
        """Return a statement with ``{schema}`` filled in."""
        return text.replace("{schema}", self._schema)

    @abstractmethod
    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the tables, in the transaction that the connection is in and that moves the checkpoint."""

    async def clear(self, connection: Connection) -> None:
        """Empty the tables, in the transaction that sets the checkpoint back."""
        for table in self.TABLES:
            await connection.execute(self.sql("DELETE FROM {schema}.") + table)
