"""The published form of the keys: a JSON Web Key Set (RFC 7517, RFC 8037)."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from msgspec import Struct

from services.runtime.tokens.keyring import PublicKey
from services.runtime.tokens.verifying import ALGORITHM


class JsonWebKey(Struct, frozen=True):
    """A public Ed25519 key.

    ``macao_purpose`` says whether it signs tokens, or records and checkpoints; ``macao_since_ms`` and
    ``macao_until_ms`` from when to when, Unix time in milliseconds. One that is to follow has a beginning that is still
    to come, the one before it ends there; the last has no end. Keys that have ended stay, to verify with.
    """

    kid: str
    x: str
    macao_purpose: str
    macao_since_ms: int
    macao_until_ms: int | None
    kty: str = "OKP"
    crv: str = "Ed25519"
    alg: str = ALGORITHM
    use: str = "sig"


class JsonWebKeySet(Struct, frozen=True):
    """Every key that a valid signature of this installation can come from."""

    keys: list[JsonWebKey]


def key_set(keys: list[PublicKey]) -> JsonWebKeySet:
    """Return the published form of the keys."""
    return JsonWebKeySet(
        [
            JsonWebKey(
                key.id,
                urlsafe_b64encode(key.raw).decode().rstrip("="),
                key.purpose,
                key.since_ms,
                key.until_ms,
            )
            for key in keys
        ]
    )
