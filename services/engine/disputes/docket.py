"""The docket: which disputes a match has, and which rulings are still to be carried out."""

from __future__ import annotations

from typing import Any, Final, Literal

from asyncpg import Connection
from msgspec import Struct

from services.contracts.envelope import Event, Recorded
from services.contracts.events.catalogue import fact_of
from services.contracts.events.dispute import DisputeOpened, DisputeRuled, DisputeWithdrawn
from services.engine.disputes.dispute import PLAYER_MAX
from services.runtime.connection import AnyConnection
from services.runtime.database import Database

OF_A_MATCH_MAX: Final = 500
"""More disputes than the largest table may have: seats times the disputes of a player."""

DUE_MAX: Final = 100

_OPEN: Final = """
insert into macao_engine.disputes (id, match, version, refused, player, command, state, reserved_ms)
values ($1, $2, $3, $4, $5, $6, 'open', $7)
on conflict (id) do update set state = 'open' where disputes.state = 'reserved'
"""
_CLOSE: Final = "update macao_engine.disputes set state = $2 where id = $1 and state <> 'ruled'"
_VOID_DUE: Final = "update macao_engine.disputes set void = 'due' where id = $1 and void is null"
_VOID_DONE: Final = "update macao_engine.disputes set void = 'done' where id = $1 and void = 'due'"


class Reserved(Struct, frozen=True):
    """A place on the docket, or why there is none. ``known``: the same command has asked for it before."""

    outcome: Literal["reserved", "known", "exists", "too-many"]
    dispute: str


class Docket:
    """Keeps the docket: the subscription ``engine-disputes``, and what is written and asked beside it."""

    NAME: Final = "engine-disputes"
    VERSION: Final = 1
    TYPES: Final = frozenset({"dispute-opened", "dispute-withdrawn", "dispute-ruled"})

    def __init__(self, database: Database) -> None:
        """Keep it in a database."""
        self._database = database

    async def apply(self, connection: Connection[Any], page: list[Recorded]) -> None:
        """Work off a page of the log, inside the subscription's transaction."""
        for recorded in page:
            await self.enter(connection, recorded.event)

    async def forget(self, connection: Connection[Any]) -> None:
        """Take every dispute off but those that are just being opened."""
        await connection.execute("delete from macao_engine.disputes where state <> 'reserved'")

    async def enter(self, connection: AnyConnection, event: Event) -> None:
        """Enter one event of a dispute; the same event may come twice."""
        match fact_of(event):
            case DisputeOpened() as opened:
                await connection.execute(
                    _OPEN, event.stream, opened.match, opened.version, refused_command(opened), opened.player,
                    event.command, event.at_ms,
                )  # fmt: skip
            case DisputeWithdrawn():
                await connection.execute(_CLOSE, event.stream, "withdrawn")
            case DisputeRuled() as ruled:
                await connection.execute(_CLOSE, event.stream, "ruled")
                if ruled.match == "void":
                    await connection.execute(_VOID_DUE, event.stream)
            case _:
                pass

    async def enter_now(self, events: list[Event]) -> None:
        """Enter events at once, so that whoever asks next finds them; the subscription will find it done."""
        async with self._database.pool.acquire() as connection, connection.transaction():
            for event in events:
                await self.enter(connection, event)

    async def reserve(
        self, dispute: str, match: str, version: int, refused: str, player: str, command: str, now_ms: int
    ) -> Reserved:
        """Hold a place for a dispute that is about to be opened."""
        (row,) = await self._database.pool.fetch(
            "select outcome, dispute from macao_engine.reserve_dispute($1, $2, $3, $4, $5, $6, $7, $8)",
            dispute, match, version, refused, player, command, now_ms, PLAYER_MAX,
        )  # fmt: skip
        return Reserved(row["outcome"], row["dispute"])

    async def of_match(self, match: str) -> list[str]:
        """Return the ids of a match's disputes, oldest first."""
        rows = await self._database.pool.fetch(
            "select id from macao_engine.disputes where match = $1 and state <> 'reserved' order by id limit $2",
            match,
            OF_A_MATCH_MAX,
        )
        return [row["id"] for row in rows]

    async def voids_due(self) -> list[str]:
        """Return disputes whose match is ruled void and may not be so yet."""
        rows = await self._database.pool.fetch(
            "select id from macao_engine.disputes where void = 'due' order by id limit $1", DUE_MAX
        )
        return [row["id"] for row in rows]

    async def void_done(self, dispute: str) -> None:
        """Write down that the match is void."""
        await self._database.pool.execute(_VOID_DONE, dispute)


def refused_command(opened: DisputeOpened) -> str:
    """Return the refused command that a dispute is about, empty where it is about an event."""
    return (opened.refused.command or "") if opened.refused is not None else ""
