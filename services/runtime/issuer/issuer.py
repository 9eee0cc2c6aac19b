"""From a bearer token of the external issuer to the caller it speaks for."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final, Self

import jwt

from services.runtime.clock import Clock, Entropy
from services.runtime.database import Database
from services.runtime.issuer.claims import read
from services.runtime.issuer.config import IssuerConfig
from services.runtime.issuer.identities import Gone, Identities
from services.runtime.issuer.keys import IssuerKeys
from services.runtime.tokens.caller import EXTERNAL, Caller, TokenError

LENGTH_MAX: Final = 8192
CACHE_MAX: Final = 8192
RECHECK_MS: Final = 300_000
"""A token that was good is looked at again after so long, in case its key was withdrawn."""


class Issuer:
    """The one external issuer of this installation."""

    def __init__(
        self, config: IssuerConfig, database: Database, clock: Clock, entropy: Entropy, gone: Gone
    ) -> None:
        self._config = config
        self._clock = clock
        self._keys = IssuerKeys(config)
        self._identities = Identities(database, clock, entropy, gone)
        self._known: OrderedDict[str, tuple[Caller, int]] = OrderedDict()

    @classmethod
    def configured(cls, database: Database, clock: Clock, entropy: Entropy, gone: Gone) -> Self | None:
        """Return the issuer that the settings name, or None; ``gone`` says whether a player was erased.

        Raises:
            SettingsError: the settings cannot be used.
        """
        config = IssuerConfig.of(database.settings)
        return None if config is None else cls(config, database, clock, entropy, gone)

    async def close(self) -> None:
        """Close the connections to the issuer."""
        await self._keys.close()

    def issued(self, token: str) -> bool:
        """Say whether a token claims to be of this issuer; nothing is proven by that yet."""
        if token in self._known:
            return True
        if len(token) > LENGTH_MAX:
            return False
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False
        return claims.get("iss") == self._config.issuer

    async def caller_of(self, token: str) -> Caller:
        """Return who a token speaks for.

        Raises:
            TokenError: it is not signed by a key that the issuer publishes, or does not say what it has to.
            IssuerAwayError: the issuer's keys are not known and cannot be fetched.
        """
        now = self._clock.now_ms()
        known = self._known.get(token)
        if known is None or known[1] <= now:
            known = await self._check(token, now), now + RECHECK_MS
            self._known[token] = known
            if len(self._known) > CACHE_MAX:
                self._known.popitem(last=False)
        caller = known[0]
        if caller.expires_at_ms <= now:
            self._known.pop(token, None)
            raise TokenError("The token has expired.")
        return caller

    async def _check(self, token: str, now_ms: int) -> Caller:
        identity = read(await self._claims(token), self._config, now_ms)
        player = await self._identities.player_of(self._config.issuer, identity.subject, identity.wish)
        # The token has no session of ours; this names it alone, should its holder log out.
        name = f"{EXTERNAL}_{sha256(token.encode()).hexdigest()[:32]}"
        return Caller(player, identity.scopes, name, identity.expires_at_ms)

    async def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            algorithm = str(header.get("alg", ""))
            key = await self._keys.find(header.get("kid"), algorithm)
            if key is None:
                raise TokenError("The token is signed by a key that the issuer did not publish for that.")
            # The claims are compared with our own clock and settings in `claims.py`.
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                options={
                    "verify_aud": False, "verify_iss": False, "verify_sub": False, "verify_jti": False,
                    "verify_exp": False, "verify_nbf": False, "verify_iat": False,
                },
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, UnicodeError, RecursionError):
            raise TokenError("The token is not valid.") from None
