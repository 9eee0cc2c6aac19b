"""Quick match: sits a player down with strangers, at once.

Where somebody sits down is promised in PostgreSQL, one asker of a game at a time (``promise_quick_seat``): at a table
that is being filled; on the last free seat of a public table that somebody opened lately with the game's default
options; or at a new table. Then the player joins like anybody else, and what the table decides holds: whoever comes too
late is promised another seat. A full table starts with the very command that filled it; ``Filling`` starts the others.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.lobby.engine import Engine, Game
from services.lobby.tables.board import Board
from services.lobby.tables.bot_matches import BotMatches
from services.lobby.tables.clerk import Done
from services.lobby.tables.desk import Desk, Wanted
from services.lobby.tables.orders import Join, Order
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import NO_SEED, Table
from services.runtime.bus import Bell
from services.runtime.clock import Clock
from services.runtime.database import Database
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

SEATS_MAX: Final = 4
"""Seats of a new table, where the game has so many: company, and yet full soon."""
TURN_SECONDS: Final = 30
"""Thinking time where the game has none of its own: who sits down with strangers does not wait for them for ever."""
LATELY_MS: Final = 10 * 60 * 1000
"""How long ago something happened at another host's table that a stranger may still be sat down at."""
OTHERS_MAX: Final = 20
PROMISES_MAX: Final = 12
"""How many tables are tried; each that turns the player away was filled or started by somebody else meanwhile."""
OPENING_SECONDS: Final = 5.0
"""How long whoever was promised a seat waits for the table to be opened by whoever is opening it."""
LOOK_SECONDS: Final = 0.2

_TURNED_AWAY: Final = frozenset(
    {"table-full", "match-running", "table-closed", "already-seated", "not-found"}
)


class Promise(Struct, frozen=True):
    """The table that a player is sent to; ``opens``: it does not exist yet, and the player opens it."""

    table: str
    opens: bool


class QuickMatch:
    """Seats whoever asks."""

    def __init__(
        self,
        database: Database,
        desk: Desk,
        streams: TableStreams,
        engine: Engine,
        board: Board,
        bot_matches: BotMatches,
        bell: Bell,
        clock: Clock,
    ) -> None:
        self._bot_matches = bot_matches
        self._database = database
        self._desk = desk
        self._streams = streams
        self._engine = engine
        self._board = board
        self._bell = bell
        self._clock = clock

    async def seat(self, game: str, seed: str, *, player: str, command: Command, cause: Any) -> Done:
        """Sit a player down. Who asks again while waiting stays where he sits.

        The seed counts at a table that was there when it came. A seed that was known before the table's commitment
        would prove nothing; whoever opens a table gives one afterwards.

        Raises:
            Problem: ``unknown-game``, ``bot-matches-many``, ``idempotency-key-reused``, ``unavailable``.
        """
        earlier = await self._desk.carried_out(command)
        if earlier is not None:
            return earlier
        await self._bot_matches.check(player)
        rules = await self._engine.game(game)
        others = [table.id for table in await self._others(rules, player)]
        turned_away: list[str] = []
        while len(turned_away) < PROMISES_MAX:
            promise = await self._promised(rules, player, command, others, turned_away)
            if promise.opens:
                done = await self._open(rules, promise.table, player, command, cause)
            else:
                done = await self._join(rules, promise.table, seed, player, command, cause)
            if done is not None:
                if done.table.state == "playing":
                    await self.forget(done.table.id)
                return done
            turned_away.append(promise.table)
        raise Problem("unavailable", "Others kept sitting down first.")

    async def forget(self, table: str) -> None:
        """Send nobody to a table any more: it has started."""
        await self._database.pool.execute("DELETE FROM macao_lobby.quick_tables WHERE id = $1", table)

    async def _others(self, rules: Game, player: str) -> list[Table]:
        tables = await self._board.joinable(rules.game, self._clock.now_ms() - LATELY_MS, OTHERS_MAX)
        return [table for table in tables if fits(table, rules) and table.seat_of(player) is None]

    async def _promised(
        self, rules: Game, player: str, command: Command, others: list[str], turned_away: list[str]
    ) -> Promise:
        row = await self._database.pool.fetchrow(
            "SELECT table_id, opens, request_hash"
            " FROM macao_lobby.promise_quick_seat($1, $2, $3, $4, $5, $6, $7, $8)",
            command.id,
            command.hash,
            rules.game,
            player,
            self._desk.new_id(),
            max(rules.seats_min, min(SEATS_MAX, rules.seats_max)),
            others,
            turned_away,
        )
        if row is None or row["request_hash"] != command.hash:
            raise Problem("idempotency-key-reused")
        return Promise(row["table_id"], row["opens"])

    async def _open(self, rules: Game, table: str, player: str, command: Command, cause: Any) -> Done | None:
        seats = max(rules.seats_min, min(SEATS_MAX, rules.seats_max))
        wanted = Wanted(turn_seconds=rules.turn_seconds or TURN_SECONDS)
        return await self._desk.open(
            rules.game,
            seats,
            wanted,
            player=player,
            command=command,
            cause=cause,
            table=table,
            quick_min=rules.seats_min,
        )

    async def _join(
        self, rules: Game, table: str, seed: str, player: str, command: Command, cause: Any
    ) -> Done | None:
        """Sit down at a table; None if the player is turned away there."""
        seen_before = await self._streams.load(table) is not None
        if not seen_before and not await self._opened(table):
            return None

        async def plan(now: Table) -> Order:
            if now.state == "open" and now.seat_of(player) is None and not fits(now, rules):
                raise Problem("table-full", "It does not fit any more.")
            return Join(seed=seed if seen_before else NO_SEED, starts=True)

        try:
            return await self._desk.act(table, plan, actor=player, command=command, cause=cause)
        except Problem as problem:
            if problem.code not in _TURNED_AWAY:
                raise
        now = await self._desk.find(table)
        return Done(now) if now.state != "closed" and now.seat_of(player) is not None else None

    async def _opened(self, table: str) -> bool:
        """Wait until a table exists; say whether it does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + OPENING_SECONDS
        with self._bell.listen(table) as ear:
            while await self._streams.load(table) is None:
                if loop.time() > deadline:
                    return False
                await ear.wait(LOOK_SECONDS)
        return True


def fits(table: Table, rules: Game) -> bool:
    """Say whether quick match may sit a stranger down at an open table.

    A table of its own always fits. One that somebody else opened fits if its match begins with this player, and is the
    game as everybody knows it: default options, rated, no bots.
    """
    if table.settings.visibility != "public" or not table.free:
        return False
    if table.quick_min is not None:
        return True
    options = msgspec.json.decode(table.settings.options, type=dict[str, Any])
    return len(table.free) == 1 and table.rated and options == rules.options
