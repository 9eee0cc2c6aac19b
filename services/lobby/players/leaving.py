"""A player who leaves for good: from every table first, then from the database."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from services.lobby.tables.board import Board
from services.lobby.tables.desk import Desk
from services.lobby.tables.orders import Leave
from services.runtime.clock import Clock
from services.runtime.erasing import erase
from services.runtime.players import Players
from services.runtime.subscription import Subscription
from services.runtime.tokens.caller import Caller
from services.runtime.tokens.tokens import Tokens
from services.runtime.web.idempotency import Command, command_id
from services.runtime.web.problems import Problem

BOARD_SECONDS: Final = 5.0
"""How long the board may take to hear of every seat that was taken before somebody asked to leave."""

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
        desk: Desk,
        board: Board,
        follower: Subscription,
        clock: Clock,
    ) -> None:
        self._tokens = tokens
        self._players = players
        self._desk = desk
        self._board = board
        self._follower = follower
        self._clock = clock

    async def leave(self, caller: Caller) -> None:
        """Free the caller's seats and erase the caller.

        Raises:
            Problem: ``match-running`` for somebody who still plays; ``not-found``, if there is nobody to erase;
                ``unavailable``, if the board does not get to know in time where the caller sits.
        """
        await self._know_all_seats()
        tables = await self._board.seated(caller.player)
        running = next((table for table in tables if table.state == "playing"), None)
        if running is not None:
            raise _playing(running.match)
        for table in tables:
            await self._stand_up(table.id, caller.player)
        async with self._tokens.revocations.transaction() as work:
            erased = await erase(work, caller.player, self._clock)
            if erased is not None:
                await work.revoke({caller.session: caller.expires_at_ms})
        if erased is None:
            raise Problem("not-found", "This player does not exist any more.")
        self._players.forget(caller.player)

    async def _know_all_seats(self) -> None:
        """Wait until the board, which follows the log, shows every seat that was taken before now."""
        try:
            async with asyncio.timeout(BOARD_SECONDS):
                await self._follower.caught_up()
        except (TimeoutError, RuntimeError):
            raise Problem("unavailable", "The list of your seats is behind: nothing was erased.") from None

    async def _stand_up(self, table: str, player: str) -> None:
        key = f"leaving:{table}"
        command = Command(command_id(player, key), sha256(key.encode()).digest())
        cause: Any = _Left()
        try:
            await self._desk.act(table, Leave(), actor=player, command=command, cause=cause)
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
