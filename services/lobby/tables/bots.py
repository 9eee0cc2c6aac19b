"""Players for the bots that sit at tables: one row each, so that a bot has an id and a name like everybody."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from services.contracts.ids import ENTROPY_BYTES, PLAYER, make_id
from services.lobby.tables.table import Table
from services.runtime.database import Database
from services.runtime.players import Players

NAMES: Final = (
    "Abacus", "Acorn", "Basil", "Bramble", "Cobalt", "Clover", "Domino", "Ember", "Fennel", "Flint", "Gingko",
    "Harbour", "Hazel", "Indigo", "Juniper", "Kestrel", "Lantern", "Larch", "Marble", "Mistral", "Nutmeg",
    "Opal", "Pepper", "Plum", "Quartz", "Rosemary", "Saffron", "Sparrow", "Thimble", "Umber", "Velvet", "Willow",
)  # fmt: skip


class Bots:
    """Makes bots for tables."""

    def __init__(self, database: Database, players: Players) -> None:
        self._database = database
        self._players = players

    async def make(self, occasion: str, at_ms: int, table: Table) -> str:
        """Return the id of the bot that sits down on this occasion; asked again, there is no second one."""
        digest = sha256(occasion.encode()).digest()
        bot = make_id(PLAYER, at_ms, digest[:ENTROPY_BYTES])
        taken = await self._players.names_of(seat.player for seat in table.seated)
        name = _name(int.from_bytes(digest[ENTROPY_BYTES:], "big"), frozenset(taken.values()))
        await self._database.pool.execute(
            "INSERT INTO macao_runtime.players (id, name, kind) VALUES ($1, $2, 'bot') ON CONFLICT DO NOTHING",
            bot,
            name,
        )
        return bot


def _name(number: int, taken: frozenset[str]) -> str:
    """Return a name that nobody else at the table has, as long as there are any."""
    start = number % len(NAMES)
    order = NAMES[start:] + NAMES[:start]
    return next((name for name in order if name not in taken), order[0])
