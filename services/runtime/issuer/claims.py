"""What a token of the issuer has to say to be taken. Pure: the signature has been checked, the time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from services.runtime.issuer.config import IssuerConfig
from services.runtime.tokens.caller import TokenError
from services.runtime.tokens.scopes import EVERYBODY

SKEW_SECONDS: Final = 30
"""How far the issuer's clock may be from ours."""
SUBJECT_MAX: Final = 255
TIME_MAX: Final = 1e11
"""Seconds; a larger number is no time, or one in milliseconds."""

_NAMES: Final = ("preferred_username", "nickname", "given_name", "name")


class Identity(Struct, frozen=True):
    """Whom a token speaks for.

    Attributes:
        subject: the issuer's name for them, never used again for anybody else.
        wish: what they may like to be called; empty where the token does not say.
        scopes: what the claims give them.
        expires_at_ms: when the token ends for us, the difference of clocks allowed for.
    """

    subject: str
    wish: str
    scopes: frozenset[str]
    expires_at_ms: int


def read(claims: Mapping[str, Any], config: IssuerConfig, now_ms: int) -> Identity:
    """Check the claims and return whom they speak of.

    Raises:
        TokenError: a claim is missing or wrong, the token is meant for others, not yet valid, or has expired.
    """
    if claims.get("iss") != config.issuer:
        raise TokenError("The token is not of the issuer.")
    audience = claims.get("aud")
    if config.audience not in (audience if isinstance(audience, list) else [audience]):
        raise TokenError("The token is meant for somebody else.")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_MAX or "\0" in subject:
        raise TokenError("The token names no subject.")
    expires_at_ms = _time_of(claims, "exp")
    if expires_at_ms is None:
        raise TokenError("The token does not say when it expires.")
    expires_at_ms += SKEW_SECONDS * 1000
    if expires_at_ms <= now_ms:
        raise TokenError("The token has expired.")
    for name in ("nbf", "iat"):
        since = _time_of(claims, name)
        if since is not None and since > now_ms + SKEW_SECONDS * 1000:
            raise TokenError("The token is not valid yet.")
    scopes = EVERYBODY | {rule.scope for rule in config.rules if rule.value in _values(claims, rule.claim)}
    return Identity(subject, _wish_in(claims), scopes, expires_at_ms)


def _time_of(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < TIME_MAX:
        raise TokenError(f"The token's {name} is not a time.")
    return int(value * 1000)


def _values(claims: Mapping[str, Any], name: str) -> list[Any]:
    """Return what a claim holds: a list, or words in a string; ``a.b`` is b in a, unless a claim is called so."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, str):
        return found.split()
    return found if isinstance(found, list) else []


def _wish_in(claims: Mapping[str, Any]) -> str:
    for name in _NAMES:
        value = claims.get(name)
        if isinstance(value, str) and value:
            return value.partition("@")[0][:200]  # no part of an address is to be shown to others
    return ""
