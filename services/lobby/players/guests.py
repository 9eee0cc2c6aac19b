"""Guests: a player by one call; and fresh tokens for the session that it began.

Neither leaves an event, so the log cannot recognise a retry; the first answer is kept for a day, encrypted,
in the very transaction that it came from.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from asyncpg import UniqueViolationError
from msgspec import Struct

from services.contracts.ids import ENTROPY_BYTES, PLAYER, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.players import Player, Players
from services.runtime.tokens.tokens import LIFETIME_SECONDS, Tokens
from services.runtime.vault import Vault
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

KEPT_MS: Final = 24 * 3600 * 1000
SCOPES: Final = frozenset({"play", "audit"})
_PURPOSE: Final = "stored answer"

T = TypeVar("T", bound=Struct)


class Issued(Struct, frozen=True):
    """A ``token`` for the Authorization header, good for ``expires_in`` seconds; a ``refresh_token`` for the next."""

    token: str
    refresh_token: str
    expires_in: int


class NewPlayer(Struct, frozen=True):
    """A new guest, and the tokens of its session."""

    player: Player
    token: str
    refresh_token: str
    expires_in: int


class Guests:
    """Makes guests and refreshes their tokens."""

    def __init__(
        self,
        database: Database,
        players: Players,
        tokens: Tokens,
        vault: Vault,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._database = database
        self._players = players
        self._tokens = tokens
        self._vault = vault
        self._clock = clock
        self._entropy = entropy

    async def create(self, name: str, command: Command | None) -> tuple[NewPlayer, bool]:
        """Make a guest of a name that has been checked; returns it, and whether this is a first answer given again.

        Raises:
            Problem: ``idempotency-key-reused``.
        """
        earlier = await self._earlier(command, NewPlayer)
        if earlier is not None:
            return earlier, True
        player = Player(make_id(PLAYER, self._clock.now_ms(), self._entropy(ENTROPY_BYTES)), name, "guest")
        try:
            async with self._database.pool.acquire() as connection, connection.transaction():
                await self._players.create(connection, player)
                token, refresh = await self._tokens.sign_in(connection, player.id, SCOPES)
                made = NewPlayer(player, token, refresh, LIFETIME_SECONDS)
                await self._keep(connection, command, made)
        except UniqueViolationError:
            return await self._other(command, NewPlayer), True
        return made, False

    async def refresh(self, refresh_token: str, command: Command | None) -> tuple[Issued, bool]:
        """Exchange a refresh token; returns the tokens, and whether this is a first answer given again.

        Raises:
            Problem: ``refresh-token-invalid``, ``idempotency-key-reused``.
        """
        earlier = await self._earlier(command, Issued)
        if earlier is not None:
            return earlier, True
        async with self._database.pool.acquire() as connection, connection.transaction():
            # Two that come at once with one key and one token: the second waits here for the first's row, and
            # by then the answer is kept.
            refreshed = await self._tokens.refresh(
                connection, refresh_token, lambda: self._is_kept(connection, command)
            )
            if refreshed is not None:
                issued = Issued(*refreshed, LIFETIME_SECONDS)
                await self._keep(connection, command, issued)
                return issued, False
        earlier = await self._earlier(command, Issued)
        if earlier is not None:
            return earlier, True
        raise Problem("refresh-token-invalid")

    async def _keep(self, connection: AnyConnection, command: Command | None, answer: Struct) -> None:
        now = self._clock.now_ms()
        await connection.execute("DELETE FROM macao_runtime.answers WHERE expires_at_ms < $1", now)
        if command is not None:
            sealed = self._vault.encrypt(_PURPOSE, msgspec.json.encode(answer), command.id.encode())
            await connection.execute(
                "INSERT INTO macao_runtime.answers (command, request_hash, answer, expires_at_ms)"
                " VALUES ($1, $2, $3, $4)",
                command.id,
                command.hash,
                sealed,
                now + KEPT_MS,
            )

    async def _is_kept(self, connection: AnyConnection, command: Command | None) -> bool:
        if command is None:
            return False
        kept: Any = await connection.fetchval(
            "SELECT 1 FROM macao_runtime.answers WHERE command = $1", command.id
        )
        return kept is not None

    async def _earlier(self, command: Command | None, kind: type[T]) -> T | None:
        if command is None:
            return None
        row = await self._database.pool.fetchrow(
            "SELECT request_hash, answer FROM macao_runtime.answers WHERE command = $1 AND expires_at_ms > $2",
            command.id,
            self._clock.now_ms(),
        )
        if row is None:
            return None
        if row["request_hash"] != command.hash:
            raise Problem("idempotency-key-reused")
        return msgspec.json.decode(
            self._vault.decrypt(_PURPOSE, row["answer"], command.id.encode()), type=kind
        )

    async def _other(self, command: Command | None, kind: type[T]) -> T:
        """Return the answer of whoever used the same key at the same moment and was faster."""
        answer = await self._earlier(command, kind)
        if answer is None:
            raise Problem("unavailable")
        return answer
