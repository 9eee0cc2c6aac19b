"""Keeps the public list of commitments up to date: which table each was for, and the seed once it is revealed.

A match reveals its seed itself, in its last event. A table that closes without another match leaves one commitment
over; its seed is revealed too, so that no commitment stays unopened without everybody seeing it.
"""

from __future__ import annotations

from typing import Any, Final

from asyncpg import Connection

from services.contracts.envelope import Event, Recorded
from services.contracts.events.catalogue import fact_of
from services.contracts.events.chance import SeedRevealed
from services.contracts.events.table import CommitmentPublished, TableClosed
from services.engine.play.commitments import SEED_PURPOSE
from services.runtime.log import EventLog
from services.runtime.vault import Vault


class Reveals:
    """The subscription ``engine-reveals``."""

    NAME: Final = "engine-reveals"
    VERSION: Final = 1
    TYPES: Final = frozenset({"seed-revealed", "commitment-published", "table-closed"})

    def __init__(self, vault: Vault, log: EventLog) -> None:
        """Open seeds with a vault; the log says which matches have begun."""
        self._vault = vault
        self._log = log

    async def apply(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Work off a page of the log, inside the subscription's transaction."""
        for recorded in page:
            await self._apply_one(connection, recorded.event)

    async def forget(self, connection: Connection[Any]) -> None:
        """Forget nothing: what was published stays published, whatever the log has lost since."""

    async def _apply_one(self, connection: Connection[Any], event: Event) -> None:
        match fact_of(event):
            case CommitmentPublished() as published:
                await connection.execute(
                    "update macao_engine.commitments set table_id = $2 where match = $1",
                    published.match,
                    event.stream,
                )
            case SeedRevealed() as revealed:
                await connection.execute(
                    "update macao_engine.commitments set seed = $2, state = 'played' where match = $1",
                    event.stream,
                    revealed.seed,
                )
            case TableClosed():
                await self._reveal_unused(connection, event.stream)
            case _:
                pass

    async def _reveal_unused(self, connection: Connection[Any], table: str) -> None:
        # A match that has begun reveals its own seed, when it is over.
        rows = await connection.fetch(
            "select match, seed_sealed from macao_engine.commitments where table_id = $1 and state = 'open'",
            table,
        )
        for match, sealed in rows:
            if await self._log.head_of(match) is not None:
                continue
            seed = self._vault.decrypt(SEED_PURPOSE, sealed, match.encode())
            await connection.execute(
                "update macao_engine.commitments set seed = $2, state = 'unused' where match = $1",
                match,
                seed.hex(),
            )
