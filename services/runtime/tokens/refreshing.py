"""Refresh tokens: each is good once and replaced by the next; one that comes back a second time ends its session.

Only their hashes are stored. A token that was used already is in two hands: its owner's and a thief's, or
the owner's twice. Nobody can tell which, so neither keeps the session.

Sessions of one player begin and go on under a shared lock, and are ended under an exclusive one: no refresh that is
on its way slips through a change of the password.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from msgspec import Struct

from services.contracts.ids import ENTROPY_BYTES, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.tokens.caller import SESSION
from services.runtime.tokens.revocations import Transaction
from services.runtime.tokens.scopes import scopes_of

LIFETIME_MS: Final = 90 * 24 * 3600 * 1000
ACCESS_SECONDS: Final = 3600
"""How long a session's access tokens last; so long a session that has ended is remembered."""
PREFIX: Final = "mr_"


class Session(Struct, frozen=True):
    """A chain of refresh tokens: one sign-in of one player on one device."""

    id: str
    player: str
    scopes: frozenset[str]


class RefreshTokens:
    """Issues and rotates refresh tokens, and ends sessions, inside the caller's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    async def begin(self, connection: AnyConnection, player: str) -> tuple[Session, str]:
        """Begin a session and return its first refresh token; what has expired is swept out by the way."""
        await connection.execute(
            "DELETE FROM macao_runtime.refresh_tokens WHERE expires_at_ms < $1", self._clock.now_ms()
        )
        await lock_sessions(connection, player, shared=True)
        session = Session(
            make_id(SESSION, self._clock.now_ms(), self._entropy(ENTROPY_BYTES)),
            player,
            await scopes_of(connection, player),
        )
        return session, await self._issue(connection, session)

    async def rotate(
        self, work: Transaction, token: str, is_retry: Callable[[], Awaitable[bool]]
    ) -> tuple[Session, str] | None:
        """Use a token up and return its session and the next one; None if it is not good (any more).

        ``is_retry`` is asked when a used token comes back: an honest retry does not end the session.
        """
        connection = work.connection
        player = await connection.fetchval(
            "SELECT player FROM macao_runtime.refresh_tokens WHERE hash = $1", hash_of(token)
        )
        if player is None:
            return None
        await lock_sessions(connection, player, shared=True)
        row = await connection.fetchrow(
            "SELECT session, expires_at_ms, used FROM macao_runtime.refresh_tokens WHERE hash = $1 FOR UPDATE",
            hash_of(token),
        )
        if row is None or row["expires_at_ms"] <= self._clock.now_ms():
            return None
        if row["used"]:
            if not await is_retry():
                await self._forget(work, [row["session"]])
            return None
        await connection.execute(
            "UPDATE macao_runtime.refresh_tokens SET used = true WHERE hash = $1", hash_of(token)
        )
        session = Session(row["session"], player, await scopes_of(connection, player))
        return session, await self._issue(connection, session)

    async def end(self, work: Transaction, player: str, session: str) -> None:
        """End one session."""
        await lock_sessions(work.connection, player, shared=False)
        await self._forget(work, [session])

    async def end_others(self, work: Transaction, player: str, kept: str) -> None:
        """End every session of a player but one."""
        await lock_sessions(work.connection, player, shared=False)
        rows = await work.connection.fetch(
            "SELECT DISTINCT session FROM macao_runtime.refresh_tokens WHERE player = $1 AND session <> $2",
            player,
            kept,
        )
        await self._forget(work, [row["session"] for row in rows])

    async def _forget(self, work: Transaction, sessions: list[str]) -> None:
        await work.connection.execute(
            "DELETE FROM macao_runtime.refresh_tokens WHERE session = ANY($1::text[])", sessions
        )
        await work.revoke(dict.fromkeys(sessions, self._clock.now_ms() + ACCESS_SECONDS * 1000))

    async def _issue(self, connection: AnyConnection, session: Session) -> str:
        token = PREFIX + urlsafe_b64encode(self._entropy(32)).decode().rstrip("=")
        await connection.execute(
            "INSERT INTO macao_runtime.refresh_tokens (hash, session, player, expires_at_ms)"
            " VALUES ($1, $2, $3, $4)",
            hash_of(token),
            session.id,
            session.player,
            self._clock.now_ms() + LIFETIME_MS,
        )
        return token


async def lock_sessions(connection: AnyConnection, player: str, *, shared: bool) -> None:
    """Hold the sessions of a player until the transaction ends: as they are, or to end some of them."""
    lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    await connection.execute(f"SELECT {lock}(hashtextextended('macao_runtime.sessions ' || $1, 0))", player)


def hash_of(token: str) -> bytes:
    """Return what is stored of a token: 256 random bits need no slow hash."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
