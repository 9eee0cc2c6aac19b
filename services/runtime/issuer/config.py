"""The settings of the external issuer, read once and checked."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import urlsplit

from msgspec import Struct

from services.runtime.settings import Settings, SettingsError

_GRANTABLE: Final = ("audit", "operate")


class ScopeRule(Struct, frozen=True):
    """Who has ``value`` in the claim ``claim`` has the scope ``scope``."""

    scope: str
    claim: str
    value: str


class IssuerConfig(Struct, frozen=True):
    """What is known of the issuer beforehand.

    Attributes:
        issuer: its name, as it stands in its tokens.
        audience: the name under which it knows us.
        jwks_url: where its keys are; empty: where its discovery document says.
        rules: what gives more scopes than ``play``, which every token of the issuer gives.
    """

    issuer: str
    audience: str
    jwks_url: str
    rules: tuple[ScopeRule, ...]

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Read the settings; None where they name no issuer.

        Raises:
            SettingsError: they are at odds.
        """
        if not settings.oidc_issuer:
            for name in ("oidc_audience", "oidc_jwks_url", "oidc_scopes"):
                if getattr(settings, name):
                    raise SettingsError(f"MACAO_{name.upper()} is set, and MACAO_OIDC_ISSUER is not")
            return None
        if not settings.oidc_audience:
            raise SettingsError(
                "MACAO_OIDC_ISSUER needs MACAO_OIDC_AUDIENCE: tokens meant for others are not ours"
            )
        for name in ("oidc_issuer", "oidc_jwks_url"):
            _check_url(f"MACAO_{name.upper()}", getattr(settings, name))
        return cls(
            settings.oidc_issuer, settings.oidc_audience, settings.oidc_jwks_url, _rules_in(settings.oidc_scopes)
        )  # fmt: skip


def _check_url(variable: str, url: str) -> None:
    """Keys that came over a line that anybody may have touched prove nothing."""
    parts = urlsplit(url)
    if url and not (
        parts.hostname
        and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname)))
    ):
        raise SettingsError(f"{variable} has to be an https:// address (http:// on this machine only)")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _rules_in(text: str) -> tuple[ScopeRule, ...]:
    rules: list[ScopeRule] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        scope, _, rest = part.partition("=")
        claim, _, value = rest.rpartition(":")  # a claim may be named by a URL
        if scope not in _GRANTABLE or not claim or not value:
            raise SettingsError(
                f"MACAO_OIDC_SCOPES holds {part!r}; it is written like audit=groups:auditors,operate=roles.own:operator"
            )
        rules.append(ScopeRule(scope, claim, value))
    return tuple(rules)
