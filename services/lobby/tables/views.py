"""Tables as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from services.lobby.tables.desk import Desk
from services.lobby.tables.table import Level, Table, TurnSeconds, Visibility
from services.runtime.players import Players


class TableSeat(Struct, frozen=True):
    """A seat: who sits there; all null where nobody does. ``bot`` is a bot's level, null for a person."""

    seat: int
    player: str | None
    name: str | None
    bot: Level | None


class TableView(Struct, frozen=True, kw_only=True):
    """A table.

    Attributes:
        version: how often it has changed; streams and ETag carry it.
        state: ``open`` between matches, ``playing``, ``closed``.
        turn_seconds: thinking time a move, null for none.
        rated: whether a match of those who sit here counts for the leaderboard; never with a bot.
        filling: quick match sits strangers down here, and the match starts by itself.
        commitment: SHA-256 commitment to the service's seed for the next match, or for the one that is running.
        commitment_number: its place in the public count of commitments.
        match_id: the running match, else the last one.
        next_match_id: the id that the next match will have; null while one is running.
        invite_code: of a private table, for the host alone.
    """

    id: str
    version: int
    game: str
    rules_version: int
    options: Annotated[Raw, Meta(extra_json_schema={"type": "object", "additionalProperties": True})]
    seats: list[TableSeat]
    host: str
    state: Literal["open", "playing", "closed"]
    turn_seconds: TurnSeconds
    visibility: Visibility
    rated: bool
    filling: bool
    commitment: str | None
    commitment_number: int | None
    match_id: str | None
    next_match_id: str | None
    invite_code: str | None = None


class TablePage(Struct, frozen=True):
    """Tables, newest first; ``next`` is the cursor of the next page, null on the last one."""

    items: list[TableView]
    next: str | None


class TableViews:
    """Shows tables with the names of those who sit there."""

    def __init__(self, players: Players, desk: Desk) -> None:
        self._players = players
        self._desk = desk

    async def view(self, table: Table, viewer: str) -> TableView:
        """Return a table as ``viewer`` may see it (empty for a stranger)."""
        return self._shown(table, viewer, await self._names([table]))

    async def views(self, tables: list[Table], viewer: str) -> list[TableView]:
        """The same for several."""
        names = await self._names(tables)
        return [self._shown(table, viewer, names) for table in tables]

    async def _names(self, tables: list[Table]) -> Mapping[str, str]:
        return await self._players.names_of(
            seat.player for table in tables for seat in table.seats if seat is not None
        )

    def _shown(self, table: Table, viewer: str, names: Mapping[str, str]) -> TableView:
        settings, commitment = table.settings, table.commitment
        shows_code = settings.visibility == "private" and viewer == table.host and table.state != "closed"
        return TableView(
            id=table.id,
            version=table.version,
            game=table.game,
            rules_version=table.rules_version,
            options=settings.options,
            seats=[
                TableSeat(number, None, None, None)
                if seat is None
                else TableSeat(number, seat.player, names.get(seat.player), seat.bot)
                for number, seat in enumerate(table.seats)
            ],
            host=table.host,
            state=table.state,
            turn_seconds=settings.turn_seconds,
            visibility=settings.visibility,
            rated=table.rated,
            filling=table.quick_min is not None,
            commitment=commitment.commitment if commitment else None,
            commitment_number=commitment.number if commitment else None,
            match_id=table.match,
            next_match_id=commitment.match if commitment and table.state == "open" else None,
            invite_code=self._desk.code_of(table.id) if shows_code else None,
        )
