"""Tokens behind one face: issue, check, refresh, and sign what is to be proven later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import jwt

from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.tokens.caller import Caller
from services.runtime.tokens.keyring import Keyring, PublicKey
from services.runtime.tokens.refreshing import RefreshTokens, Session
from services.runtime.tokens.verifying import ALGORITHM, ISSUER, Verifier
from services.runtime.vault import Vault

LIFETIME_SECONDS: Final = 3600
SERVICE_LIFETIME_SECONDS: Final = 300
SERVICE_MARGIN_MS: Final = 60_000


class Tokens:
    """Everything about tokens and signatures that one process needs."""

    def __init__(self, database: Database, vault: Vault, clock: Clock, entropy: Entropy) -> None:
        self.keyring: Final = Keyring(database, vault, clock, entropy)
        self._verifier = Verifier(self.keyring, clock)
        self._refresh = RefreshTokens(clock, entropy)
        self._clock = clock
        self._service_tokens: dict[str, tuple[str, int]] = {}

    async def open(self) -> None:
        """Load the keys; see ``Keyring.open``."""
        await self.keyring.open()

    async def caller_of(self, token: str) -> Caller:
        """Return who a token speaks for; see ``Verifier.caller_of``."""
        return await self._verifier.caller_of(token)

    def access_token(
        self, player: str, scopes: frozenset[str], session: str = "", lifetime_seconds: int = LIFETIME_SECONDS
    ) -> str:
        """Return a signed token that says who its holder is and what it is good for."""
        now = self._clock.now_ms() // 1000
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "sub": player,
            "scope": " ".join(sorted(scopes)),
            "iat": now,
            "exp": now + lifetime_seconds,
        }
        if session:
            claims["sid"] = session
        key_id, key = self.keyring.signer("token")
        return jwt.encode(claims, key, ALGORITHM, headers={"kid": key_id})

    def service_token(self, service: str) -> str:
        """Return a token with which one service speaks to another, renewed before it expires."""
        now = self._clock.now_ms()
        token, until = self._service_tokens.get(service, ("", 0))
        if until <= now:
            token = self.access_token(
                service, frozenset({"service"}), lifetime_seconds=SERVICE_LIFETIME_SECONDS
            )
            self._service_tokens[service] = (token, now + SERVICE_LIFETIME_SECONDS * 1000 - SERVICE_MARGIN_MS)
        return token

    async def sign_in(
        self, connection: AnyConnection, player: str, scopes: frozenset[str]
    ) -> tuple[str, str]:
        """Begin a session inside the caller's transaction; returns its access token and its refresh token."""
        session, refresh = await self._refresh.begin(connection, player, scopes)
        return self._access_of(session), refresh

    async def refresh(
        self, connection: AnyConnection, refresh_token: str, is_retry: Callable[[], Awaitable[bool]]
    ) -> tuple[str, str] | None:
        """Exchange a refresh token for an access token and the next refresh token; None if it is not good.

        What comes back a second time ends its session, unless ``is_retry`` says that it is the same request again.
        The caller commits either way.
        """
        rotated = await self._refresh.rotate(connection, refresh_token, is_retry)
        if rotated is None:
            return None
        session, refresh = rotated
        return self._access_of(session), refresh

    def sign(self, data: bytes) -> tuple[str, bytes]:
        """Sign a record: returns the key's id and the Ed25519 signature of ``data``."""
        return self.keyring.sign("record", data)

    async def verify(self, key_id: str, data: bytes, signature: bytes) -> bool:
        """Say whether a record's signature is one of ours."""
        return await self.keyring.verify("record", key_id, data, signature)

    def public_keys(self) -> list[PublicKey]:
        """Return every published key, oldest first."""
        return self.keyring.public_keys()

    def _access_of(self, session: Session) -> str:
        return self.access_token(session.player, session.scopes, session.id)
