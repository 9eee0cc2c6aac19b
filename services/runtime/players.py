"""The directory of players. Names are kept here and nowhere in the log, so that they can be forgotten."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from services.runtime.connection import AnyConnection
from services.runtime.database import Database

Kind = Literal["guest", "account", "bot"]

CACHE_MAX: Final = 20_000
CACHE_SECONDS: Final = 30.0
"""How long a name is remembered: a guest that becomes an account may choose another."""


_UNKNOWN: Final = ("", float("-inf"))


class Player(Struct, frozen=True):
    """A player as anybody may see one."""

    id: str
    name: str
    kind: Kind


class Players:
    """Finds players by id; remembers their names for a while."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def create(self, connection: AnyConnection, player: Player) -> None:
        """Add a player, inside the caller's transaction."""
        await connection.execute(
            "INSERT INTO macao_runtime.players (id, name, kind) VALUES ($1, $2, $3)",
            player.id,
            player.name,
            player.kind,
        )

    async def find(self, player_id: str) -> Player | None:
        """Return a player, or None if there is none of that id (any more)."""
        row = await self._database.pool.fetchrow(
            "SELECT id, name, kind FROM macao_runtime.players WHERE id = $1 AND kind <> 'erased'", player_id
        )
        return None if row is None else Player(row["id"], row["name"], row["kind"])

    async def names_of(self, player_ids: Iterable[str]) -> Mapping[str, str]:
        """Return the names of these players; an id without a player (any more) is left out."""
        wanted = set(player_ids)
        now = time.monotonic()
        missing = [
            player_id
            for player_id in wanted
            if self._names.get(player_id, _UNKNOWN)[1] + CACHE_SECONDS <= now
        ]
        if missing:
            rows = await self._database.pool.fetch(
                "SELECT id, name FROM macao_runtime.players WHERE id = ANY($1::text[])", missing
            )
            for row in rows:
                self._names[row["id"]] = row["name"], now
                self._names.move_to_end(row["id"])
        names = {player_id: self._names[player_id][0] for player_id in wanted if player_id in self._names}
        while len(self._names) > CACHE_MAX:
            self._names.popitem(last=False)
        return names

    async def erased_among(self, player_ids: Iterable[str]) -> frozenset[str]:
        """Return those of these players who were erased."""
        rows = await self._database.pool.fetch(
            "SELECT id FROM macao_runtime.players WHERE id = ANY($1::text[]) AND kind = 'erased'",
            list(player_ids),
        )
        return frozenset(row["id"] for row in rows)

    def forget(self, player_id: str) -> None:
        """Look at the database for this player's name the next time."""
        self._names.pop(player_id, None)
