"""Named tokens: long-lived ones that players make for their programs, with the scopes that those need.

A named token is signed like any other and stored nowhere. Its row is there to list it by, and to revoke it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from services.contracts.ids import ENTROPY_BYTES, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.tokens.caller import NAMED
from services.runtime.tokens.refreshing import lock_sessions
from services.runtime.tokens.revocations import Transaction
from services.runtime.tokens.scopes import scopes_of

NAMED_MAX: Final = 50
"""Named tokens of one player."""
DAYS_MAX: Final = 366
DAY_MS: Final = 24 * 3600 * 1000


class TooManyError(Exception):
    """The player has as many named tokens as there may be."""


class ScopeError(Exception):
    """The player may not do (any more) what the token was to be good for."""


class NamedToken(Struct, frozen=True):
    """A named token, without the token itself: that was shown once.

    Attributes:
        id: what to revoke it by, ``n_…``.
        name: what its player calls it.
        scopes: what it is good for.
        created_at_ms: Unix time; so is ``expires_at_ms``.
    """

    id: str
    name: str
    scopes: list[str]
    created_at_ms: int
    expires_at_ms: int


class NamedTokens:
    """Keeps the named tokens of every player, inside the caller's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    async def add(
        self, connection: AnyConnection, player: str, name: str, scopes: frozenset[str], days: int
    ) -> NamedToken:
        """Add one.

        Raises:
            TooManyError: the player has as many as there may be.
            ScopeError: the player does not have these scopes (any more).
        """
        # One at a time, so that the count holds; and none slips through when a scope is withdrawn.
        await lock_sessions(connection, player, shared=False)
        now = self._clock.now_ms()
        await connection.execute(
            "DELETE FROM macao_runtime.named_tokens WHERE player = $1 AND expires_at_ms <= $2", player, now
        )
        count: int = await connection.fetchval(
            "SELECT count(*) FROM macao_runtime.named_tokens WHERE player = $1", player
        )
        if count >= NAMED_MAX:
            raise TooManyError
        exists = await connection.fetchval(
            "SELECT kind <> 'erased' FROM macao_runtime.players WHERE id = $1", player
        )
        if not exists or not scopes <= await scopes_of(connection, player):
            raise ScopeError
        token = NamedToken(
            make_id(NAMED, now, self._entropy(ENTROPY_BYTES)), name, sorted(scopes), now, now + days * DAY_MS
        )  # fmt: skip
        await connection.execute(
            "INSERT INTO macao_runtime.named_tokens (id, player, name, scopes, created_at_ms, expires_at_ms)"
            " VALUES ($1, $2, $3, $4, $5, $6)",
            token.id,
            player,
            token.name,
            token.scopes,
            token.created_at_ms,
            token.expires_at_ms,
        )
        return token

    async def of(self, connection: AnyConnection, player: str) -> list[NamedToken]:
        """Return a player's named tokens that have not expired, oldest first."""
        rows = await connection.fetch(
            "SELECT id, name, scopes, created_at_ms, expires_at_ms FROM macao_runtime.named_tokens"
            " WHERE player = $1 AND expires_at_ms > $2 ORDER BY id",
            player,
            self._clock.now_ms(),
        )
        return [
            NamedToken(
                row["id"], row["name"], list(row["scopes"]), row["created_at_ms"], row["expires_at_ms"]
            )
            for row in rows
        ]

    async def end(self, work: Transaction, player: str, token_id: str) -> bool:
        """Revoke one; say whether there was one of that id."""
        return await self._end(work, player, token_id) > 0

    async def end_all(self, work: Transaction, player: str) -> None:
        """Revoke every named token of a player."""
        await self._end(work, player, None)

    async def _end(self, work: Transaction, player: str, token_id: str | None) -> int:
        await lock_sessions(work.connection, player, shared=False)
        rows = await work.connection.fetch(
            "DELETE FROM macao_runtime.named_tokens WHERE player = $1 AND ($2::text IS NULL OR id = $2)"
            " RETURNING id, expires_at_ms",
            player,
            token_id,
        )
        await work.revoke({row["id"]: row["expires_at_ms"] for row in rows})
        return len(rows)
