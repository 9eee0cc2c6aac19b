"""Which engine process plays the bots of which match: held for seconds, by the database's clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from services.runtime.database import Database

HOLD_SECONDS: Final = 3.0
"""So long a match stays with a process that says nothing more. Shorter than any thinking time."""
CLAIM_MAX: Final = 200
"""The most matches that one statement claims."""

_HOLD: Final = timedelta(seconds=HOLD_SECONDS)

_RENEW: Final = """
update macao_engine.bot_matches set held_until = clock_timestamp() + $2 where holder = $1
returning match
"""

_CLAIM: Final = """
update macao_engine.bot_matches set holder = $1, held_until = clock_timestamp() + $2
where match in (
    select match from macao_engine.bot_matches where held_until < clock_timestamp() and holder is distinct from $1
    order by held_until limit $3 for update skip locked
)
returning match
"""


class Leases:
    """The matches that this process holds."""

    def __init__(self, database: Database, holder: str) -> None:
        """Hold under a name that no other process has."""
        self._database = database
        self._holder = holder

    async def renew(self) -> set[str]:
        """Hold on to what is held, and return it: what is not in it any more was over, or went to another process."""
        rows = await self._database.pool.fetch(_RENEW, self._holder, _HOLD)
        return {row["match"] for row in rows}

    async def claim(self) -> set[str]:
        """Take matches that nobody holds."""
        rows = await self._database.pool.fetch(_CLAIM, self._holder, _HOLD, CLAIM_MAX)
        return {row["match"] for row in rows}

    async def strike(self, match: str) -> None:
        """Take a match out that is over, in case the roster is late."""
        await self._database.pool.execute("delete from macao_engine.bot_matches where match = $1", match)

    async def release(self) -> None:
        """Give everything back, so that others need not wait."""
        await self._database.pool.execute(
            "update macao_engine.bot_matches set holder = null, held_until = '-infinity' where holder = $1",
            self._holder,
        )
