"""The table of running clocks, kept from the log."""

from __future__ import annotations

import logging
from typing import Any, Final

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.contracts.events.catalogue import fact_of
from services.contracts.events.match import MatchStarted
from services.engine.play.live import LiveMatches
from services.runtime.web.problems import Problem

_logger: Final = logging.getLogger(__name__)


class Deadlines:
    """The subscription ``engine-clocks``."""

    NAME: Final = "engine-clocks"
    VERSION: Final = 1
    TYPES: Final = frozenset({"match-started"})
    """Whatever else happens in a match may move its clock; but what it is does not matter, only that it happened."""

    def __init__(self, live: LiveMatches) -> None:
        """Look at matches through the live ones of this process."""
        self._live = live

    async def apply(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Set the clock of every match that moved on, inside the subscription's transaction.

        A match is looked at as it is now, not as it was at the event: what came since will only be confirmed.
        """
        started = {
            recorded.event.stream
            for recorded in page
            if recorded.event.type == "match-started" and _has_clock(recorded)
        }
        others = {recorded.event.stream for recorded in page} - started
        rows = await connection.fetch(
            "select match from macao_engine.clocks where match = any($1)", list(others)
        )
        for match in sorted(started | {row["match"] for row in rows}):
            await self._set(connection, match)

    async def forget(self, connection: Connection[Any]) -> None:
        """Stop every clock."""
        await connection.execute("delete from macao_engine.clocks")

    async def _set(self, connection: Connection[Any], match: str) -> None:
        try:
            live = await self._live.refreshed(match)
        except Problem as problem:
            # What is wrong with this match is for the operator to mend, and not to stop the clocks of all others.
            _logger.error("the clock of %s stays as it is: %s", match, problem)  # noqa: TRY400 - the words say all
            return
        if live is None or live.turn is None:
            await connection.execute("delete from macao_engine.clocks where match = $1", match)
            return
        seconds = live.match.started.turn_seconds or 0
        await connection.execute(
            "insert into macao_engine.clocks (match, seat, since_ms, due_ms) values ($1, $2, $3, $4)"
            " on conflict (match) do update set seat = $2, since_ms = $3, due_ms = $4",
            match,
            live.turn,
            live.turn_since_ms,
            live.turn_since_ms + seconds * 1000,
        )


def _has_clock(recorded: Recorded) -> bool:
    fact = fact_of(recorded.event)
    return isinstance(fact, MatchStarted) and fact.turn_seconds is not None
