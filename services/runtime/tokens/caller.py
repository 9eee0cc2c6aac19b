"""Who is asking."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Caller(Struct, frozen=True):
    """What a valid token says.

    Attributes:
        player: ``p_…``; for the scope ``service`` the asking service's name; empty without a token.
        scopes: what the token is good for: ``play``, ``audit``, ``operate``, ``service``.
        session: the chain of refresh tokens that the token belongs to, for revocation; empty where there is none.
        expires_at_ms: when the token ends, Unix time in milliseconds; 0 without a token.
    """

    player: str
    scopes: frozenset[str]
    session: str = ""
    expires_at_ms: int = 0

    @property
    def is_anonymous(self) -> bool:
        """Whether there was no token."""
        return not self.player


ANONYMOUS: Final = Caller("", frozenset())
