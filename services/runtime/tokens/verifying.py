"""From a token to the caller it speaks for: EdDSA only, our issuer only, expiry checked on every use."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import jwt

from services.runtime.clock import Clock
from services.runtime.tokens.caller import Caller, TokenError
from services.runtime.tokens.keyring import Keyring

ALGORITHM: Final = "EdDSA"
ISSUER: Final = "macao"
LENGTH_MAX: Final = 2048
CACHE_MAX: Final = 8192
"""Verified tokens remembered per process: a signature check costs a hundred times a look-up."""


class Verifier:
    """Checks tokens against the keyring, and remembers the good ones until they expire."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock
        self._known: OrderedDict[str, Caller] = OrderedDict()

    def knows(self, token: str) -> bool:
        """Say whether this token was found to be good before."""
        return token in self._known

    def known(self, token: str) -> Caller | None:
        """Return who a token speaks for, if it was found to be good before; without asking whether it still is."""
        return self._known.get(token)

    async def caller_of(self, token: str) -> Caller:
        """Return who a token speaks for.

        Raises:
            TokenError: it is malformed, expired, not signed by us, or altered.
        """
        caller = self._known.get(token)
        if caller is None:
            caller = self._read(await self._claims(token))
            self._known[token] = caller
            if len(self._known) > CACHE_MAX:
                self._known.popitem(last=False)
        if caller.expires_at_ms <= self._clock.now_ms():
            self._known.pop(token, None)
            raise TokenError("The token has expired.")
        return caller

    async def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > LENGTH_MAX:
            raise TokenError("The token is too long to be one of ours.")
        try:
            header = jwt.get_unverified_header(token)
            key = await self._keyring.verifier("token", str(header.get("kid", "")))
            if key is None:
                raise TokenError("The token is signed by a key that we did not publish.")
            # Expiry is compared with our own clock in `caller_of`, for fresh and remembered tokens alike.
            return jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                options={"require": ["exp", "iat", "sub", "iss"], "verify_exp": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError, UnicodeError, RecursionError):
            raise TokenError("The token is not valid.") from None

    @staticmethod
    def _read(claims: dict[str, Any]) -> Caller:
        player, scope, expires, session = (claims.get(name) for name in ("sub", "scope", "exp", "sid"))
        if not (isinstance(player, str) and player and isinstance(scope, str) and isinstance(expires, int)):
            raise TokenError("The token is not valid.")
        return Caller(
            player, frozenset(scope.split()), session if isinstance(session, str) else "", expires * 1000
        )
