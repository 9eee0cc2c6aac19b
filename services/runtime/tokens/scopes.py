"""What a player may do at this moment."""

from __future__ import annotations

from typing import Final

from services.runtime.connection import AnyConnection

EVERYBODY: Final = frozenset({"play"})
"""The scopes that need no grant."""


async def scopes_of(connection: AnyConnection, player: str) -> frozenset[str]:
    """Return everybody's scopes and those that were granted to this player."""
    rows = await connection.fetch("SELECT scope FROM macao_runtime.grants WHERE player = $1", player)
    return EVERYBODY | {row["scope"] for row in rows}
