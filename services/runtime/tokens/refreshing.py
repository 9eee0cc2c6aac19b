"""Refresh tokens: each is good once and replaced by the next; one that comes back a second time ends its session.

Only their hashes are stored. A token that was used already is in two hands: its owner's and a thief's, or
the owner's twice. Nobody can tell which, so neither keeps the session.
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

LIFETIME_MS: Final = 90 * 24 * 3600 * 1000
PREFIX: Final = "mr_"


class Session(Struct, frozen=True):
    """A chain of refresh tokens: one sign-in of one player on one device."""

    id: str
    player: str
    scopes: frozenset[str]


class RefreshTokens:
    """Issues and rotates refresh tokens, inside the caller's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    async def begin(
        self, connection: AnyConnection, player: str, scopes: frozenset[str]
    ) -> tuple[Session, str]:
        """Begin a session and return its first refresh token; what has expired is swept out by the way."""
        await connection.execute(
            "DELETE FROM macao_runtime.refresh_tokens WHERE expires_at_ms < $1", self._clock.now_ms()
        )
        session = Session(make_id("s", self._clock.now_ms(), self._entropy(ENTROPY_BYTES)), player, scopes)
        return session, await self._issue(connection, session)

    async def rotate(
        self, connection: AnyConnection, token: str, is_retry: Callable[[], Awaitable[bool]]
    ) -> tuple[Session, str] | None:
        """Use a token up and return its session and the next one; None if it is not good (any more).

        ``is_retry`` is asked when a used token comes back: an honest retry does not end the session.
        """
        row = await connection.fetchrow(
            "SELECT session, player, scopes, expires_at_ms, used FROM macao_runtime.refresh_tokens"
            " WHERE hash = $1 FOR UPDATE",
            hash_of(token),
        )
        if row is None or row["expires_at_ms"] <= self._clock.now_ms():
            return None
        if row["used"]:
            if not await is_retry():
                await connection.execute(
                    "DELETE FROM macao_runtime.refresh_tokens WHERE session = $1", row["session"]
                )
            return None
        await connection.execute(
            "UPDATE macao_runtime.refresh_tokens SET used = true WHERE hash = $1", hash_of(token)
        )
        session = Session(row["session"], row["player"], frozenset(row["scopes"]))
        return session, await self._issue(connection, session)

    async def _issue(self, connection: AnyConnection, session: Session) -> str:
        token = PREFIX + urlsafe_b64encode(self._entropy(32)).decode().rstrip("=")
        await connection.execute(
            "INSERT INTO macao_runtime.refresh_tokens (hash, session, player, scopes, expires_at_ms)"
            " VALUES ($1, $2, $3, $4, $5)",
            hash_of(token),
            session.id,
            session.player,
            sorted(session.scopes),
            self._clock.now_ms() + LIFETIME_MS,
        )
        return token


def hash_of(token: str) -> bytes:
    """Return what is stored of a token: 256 random bits need no slow hash."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
