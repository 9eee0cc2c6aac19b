"""Who is asking."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# What the ids of ``Caller.session`` begin with.
SESSION: Final = "s"
NAMED: Final = "n"
EXTERNAL: Final = "x"


class TokenError(Exception):
    """The token cannot be accepted; the message may be shown to whoever sent it."""


class Caller(Struct, frozen=True):
    """What a valid token says.

    Attributes:
        player: ``p_…``; for the scope ``service`` the asking service's name; empty without a token.
        scopes: what the token is good for: ``play``, ``audit``, ``operate``, ``service``.
        session: what is revoked to end the token: the session (``s_…``) that it belongs to, the named token
            (``n_…``) that it is, or a name (``x_…``) for one token of an external issuer; empty where there is none.
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

    @property
    def in_session(self) -> bool:
        """Whether a person signed in for this token, here; not a named token, nor one of an external issuer."""
        return self.session.startswith(f"{SESSION}_")

    @property
    def is_external(self) -> bool:
        """Whether the token is one of the external issuer."""
        return self.session.startswith(f"{EXTERNAL}_")


ANONYMOUS: Final = Caller("", frozenset())
