"""Tokens behind one face: issue, check, refresh, revoke, and sign what is to be proven later."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import jwt

from services.runtime.bus import Bell
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.issuer import Issuer
from services.runtime.tokens.caller import Caller, TokenError
from services.runtime.tokens.keyring import Keyring, PublicKey
from services.runtime.tokens.named import NamedToken, NamedTokens
from services.runtime.tokens.refreshing import ACCESS_SECONDS, RefreshTokens, Session
from services.runtime.tokens.revocations import Revocations, Transaction
from services.runtime.tokens.verifying import ALGORITHM, ISSUER, Verifier
from services.runtime.vault import Vault

LIFETIME_SECONDS: Final = ACCESS_SECONDS
SERVICE_LIFETIME_SECONDS: Final = 300
SERVICE_MARGIN_MS: Final = 60_000


class Tokens:
    """Everything about tokens and signatures that one process needs.

    Attributes:
        keyring: the keys that sign.
        revocations: what must not be honoured any more.
        named: the long-lived tokens that players made.
    """

    def __init__(
        self, database: Database, vault: Vault, clock: Clock, entropy: Entropy, bell: Bell | None = None
    ) -> None:
        """Wire everything.

        Raises:
            SettingsError: the external issuer's settings cannot be used.
        """
        self.keyring: Final = Keyring(database, vault, clock, entropy)
        self.revocations: Final = Revocations(database, clock, bell or Bell(database.settings))
        self.named: Final = NamedTokens(clock, entropy)
        self._verifier = Verifier(self.keyring, clock)
        self._issuer = Issuer.configured(database, clock, entropy, lambda player: player in self.revocations)
        self._refresh = RefreshTokens(clock, entropy)
        self._clock = clock
        self._service_tokens: dict[str, tuple[str, int]] = {}

    async def open(self) -> None:
        """Load the keys and the revocations; see ``Keyring.open``."""
        await self.keyring.open()
        await self.revocations.load()

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Learn of revocations, and keep the way to the external issuer, while open."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self.revocations.watching())
            await stack.enter_async_context(self.keyring.watching())
            if self._issuer is not None:
                stack.push_async_callback(self._issuer.close)
            yield

    def known(self, token: str) -> Caller | None:
        """Return who a token of ours spoke for when it was last seen; for counting, not for trusting."""
        return self._verifier.known(token)

    async def caller_of(self, token: str) -> Caller:
        """Return who a token speaks for; see ``Verifier.caller_of`` and ``Issuer.caller_of``."""
        if self._issuer is not None and not self._verifier.knows(token) and self._issuer.issued(token):
            caller = await self._issuer.caller_of(token)
        else:
            caller = await self._verifier.caller_of(token)
        if caller.session in self.revocations:
            raise TokenError("The token has been revoked.")
        if caller.player in self.revocations:
            raise TokenError("This player was erased.")
        return caller

    def access_token(
        self, player: str, scopes: frozenset[str], session: str = "", lifetime_seconds: int = LIFETIME_SECONDS
    ) -> str:
        """Return a signed token that says who its holder is and what it is good for."""
        now = self._clock.now_ms() // 1000
        return self._signed(player, scopes, session, now, now + lifetime_seconds)

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

    def named_token(self, player: str, row: NamedToken) -> str:
        """Return the token that a row of ``named`` lists: the only time that anybody sees it."""
        return self._signed(
            player, frozenset(row.scopes), row.id, row.created_at_ms // 1000, row.expires_at_ms // 1000
        )

    async def sign_in(self, connection: AnyConnection, player: str) -> tuple[str, str]:
        """Begin a session inside the caller's transaction; returns its access token and its refresh token."""
        session, refresh = await self._refresh.begin(connection, player)
        return self._access_of(session), refresh

    async def refresh(
        self, work: Transaction, refresh_token: str, is_retry: Callable[[], Awaitable[bool]]
    ) -> tuple[str, str, str] | None:
        """Exchange a refresh token for player, access token and next refresh token; None if it is not good.

        What comes back a second time ends its session, unless ``is_retry`` says that it is the same request again.
        The caller commits either way.
        """
        rotated = await self._refresh.rotate(work, refresh_token, is_retry)
        if rotated is None:
            return None
        session, refresh = rotated
        return session.player, self._access_of(session), refresh

    async def end(self, work: Transaction, caller: Caller) -> None:
        """End what the caller's token belongs to: its session, or the token itself where it has none."""
        if caller.in_session:
            await self._refresh.end(work, caller.player, caller.session)
        elif caller.is_external:
            await work.revoke({caller.session: caller.expires_at_ms})
        else:
            await self.named.end(work, caller.player, caller.session)

    async def end_others(self, work: Transaction, caller: Caller) -> None:
        """End every session of the caller's player but the one that the caller speaks from."""
        await self._refresh.end_others(work, caller.player, caller.session)

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

    def _signed(self, player: str, scopes: frozenset[str], session: str, since: int, until: int) -> str:
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "sub": player,
            "scope": " ".join(sorted(scopes)),
            "iat": since,
            "exp": until,
        }
        if session:
            claims["sid"] = session
        key_id, key = self.keyring.signer("token")
        return jwt.encode(claims, key, ALGORITHM, headers={"kid": key_id})
