"""A player who leaves for good: from every table first, then from the database."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from services.lobby.tables.clerk import Clerk
from services.lobby.tables.keeper import Keeper
from services.lobby.tables.orders import Leave
from services.lobby.tables.seated import tables_of
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.erasing import erase
from services.runtime.players import Players
from services.runtime.tokens.caller import Caller
from services.runtime.tokens.tokens import Tokens
from services.runtime.web.idempotency import Command, command_id
from services.runtime.web.problems import Problem

_GONE: Final = frozenset({"table-closed", "not-seated"})


class _Left(Struct, frozen=True):
    """What the table's stream keeps as the cause."""

    order: str = "leave"


class Leaving:
    """Erases players who ask for it themselves."""

    def __init__(
        self,
        tokens: Tokens,
        players: Players,
        clerk: Clerk,
        keeper: Keeper,
        streams: TableStreams,
        database: Database,
        clock: Clock,
    ) -> None:
        self._tokens = tokens
        self._players = players
        self._clerk = clerk
        self._keeper = keeper
        self._streams = streams
        self._database = database
        self._clock = clock

    async def leave(self, caller: Caller) -> None:
        """Free the caller's seats and erase the caller.

        Whether somebody still plays is asked of the match's own stream; a table that has not heard of the end yet is
        told.

        Raises:
            Problem: ``match-running`` for somebody who still plays; ``not-found``, if there is nobody to erase;
                ``unavailable``, if a table cannot be told of the end just now.
        """
        tables = await tables_of(self._database.pool, self._streams, caller.player)
        playing = [table for table in tables if table.state == "playing"]
        for table in playing:
            if not await self._keeper.hear(table.id):
                raise _playing(table.match)
        for table in tables:
            await self._stand_up(table, caller.player)
        async with self._tokens.revocations.transaction() as work:
            erased = await erase(work, caller.player, self._clock)
            if erased is not None:
                await work.revoke({caller.session: caller.expires_at_ms})
        if erased is None:
            raise Problem("not-found", "This player does not exist any more.")
        self._players.forget(caller.player)

    async def _stand_up(self, table: Table, player: str) -> None:
        # By the version at which the player was seen there: who sat down again meanwhile stands up again.
        key = f"leaving:{table.id}:{table.version}"
        command = Command(command_id(player, key), sha256(key.encode()).digest())
        cause: Any = _Left()
        try:
            await self._clerk.act(table.id, Leave(), actor=player, command=command, cause=cause)
        except Problem as problem:
            if problem.code == "match-running":
                raise _playing((problem.params or {}).get("match_id")) from None
            if problem.code not in _GONE:
                raise


def _playing(match: str | None) -> Problem:
    return Problem(
        "match-running",
        "You sit in a match that is running: wait until it has ended, or leave it, before you erase the account.",
        params={"match_id": match},
    )
