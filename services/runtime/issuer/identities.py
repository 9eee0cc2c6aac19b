"""Which player a subject of the issuer is: a row that is written when they first come."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from asyncpg import UniqueViolationError

from services.contracts.ids import ENTROPY_BYTES, PLAYER, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.names import LENGTH_MAX, canonical, made_fit

CACHE_MAX: Final = 8_192
NUMBERS_MAX: Final = 9


Gone = Callable[[str], bool]
"""Whether a player was erased since: then the subject is somebody new."""


class Identities:
    """Finds the player of a subject, and makes it the first time."""

    def __init__(self, database: Database, clock: Clock, entropy: Entropy, gone: Gone) -> None:
        self._database = database
        self._gone = gone
        self._clock = clock
        self._entropy = entropy
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def player_of(self, issuer: str, subject: str, wish: str) -> str:
        """Return the player; ``wish`` is what they would like to be called, should they be new."""
        key = (issuer, subject)
        player = self._known.get(key)
        if player is None or self._gone(player):
            player = self._known[key] = await self._find(*key) or await self._make(*key, wish)
            if len(self._known) > CACHE_MAX:
                self._known.popitem(last=False)
        return player

    async def _find(self, issuer: str, subject: str) -> str | None:
        found: str | None = await self._database.pool.fetchval(
            "SELECT player FROM macao_runtime.external_identities WHERE issuer = $1 AND subject = $2",
            issuer,
            subject,
        )
        return found

    async def _make(self, issuer: str, subject: str, wish: str) -> str:
        player = make_id(PLAYER, self._clock.now_ms(), self._entropy(ENTROPY_BYTES))
        async with self._database.pool.acquire() as connection, connection.transaction():
            # Of two processes that meet a new subject at once, one waits here for the other, and finds its row.
            mine: str | None = await connection.fetchval(
                "INSERT INTO macao_runtime.external_identities (issuer, subject, player) VALUES ($1, $2, $3)"
                " ON CONFLICT (issuer, subject) DO NOTHING RETURNING player",
                issuer,
                subject,
                player,
            )
            if mine is not None:
                await self._name(connection, player, wish)
                return player
        theirs = await self._find(issuer, subject)
        return theirs if theirs is not None else await self._make(issuer, subject, wish)

    @staticmethod
    async def _name(connection: AnyConnection, player: str, wish: str) -> None:
        for name in _candidates(player, wish):
            try:
                async with connection.transaction():
                    await connection.execute(
                        "INSERT INTO macao_runtime.players (id, name, kind, account_name)"
                        " VALUES ($1, $2, 'account', $3)",
                        player,
                        name,
                        canonical(name),
                    )
            except UniqueViolationError:
                continue
            return
        raise RuntimeError("no name is free")


def _candidates(player: str, wish: str) -> Iterator[str]:
    last = f"Player {player[-8:]}"
    name = made_fit(wish, last)
    yield name
    for number in range(2, NUMBERS_MAX + 1):
        yield f"{name[: LENGTH_MAX - 2].rstrip()} {number}"
    yield last
    yield f"Player {player[-16:]}"
