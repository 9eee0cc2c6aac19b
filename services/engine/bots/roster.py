"""The table of running matches that have bots in them, kept from the log."""

from __future__ import annotations

from typing import Any, Final

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.contracts.events.catalogue import fact_of
from services.contracts.events.match import MatchStarted

_ENDS: Final = frozenset({"match-ended", "match-voided"})


class Roster:
    """The subscription ``engine-bots``."""

    NAME: Final = "engine-bots"
    VERSION: Final = 1
    TYPES: Final = _ENDS | {"match-started"}

    async def apply(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Enter matches that have begun, and strike out those that are over, inside the subscription's transaction."""
        begun = {recorded.event.stream for recorded in page if _has_bots(recorded)}
        over = {recorded.event.stream for recorded in page if recorded.event.type in _ENDS}
        if begun - over:
            await connection.execute(
                "insert into macao_engine.bot_matches (match) select unnest($1::text[]) on conflict do nothing",
                sorted(begun - over),
            )
        if over:
            await connection.execute(
                "delete from macao_engine.bot_matches where match = any($1)", sorted(over)
            )

    async def forget(self, connection: Connection[Any]) -> None:
        """Strike everything out."""
        await connection.execute("delete from macao_engine.bot_matches")


def _has_bots(recorded: Recorded) -> bool:
    if recorded.event.type != "match-started":
        return False
    fact = fact_of(recorded.event)
    return isinstance(fact, MatchStarted) and any(seat.bot is not None for seat in fact.seats)
