"""Who signs checkpoints: the service's record key, over bytes that are never taken for a record's."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from services.contracts.base64url import base64url, from_base64url
from services.contracts.checkpoint import Checkpoint, signed_text, text_of
from services.runtime.tokens.keyring import Keyring


def sign_checkpoint(keyring: Keyring, log: str, size: int, root: bytes, at_ms: int) -> Checkpoint:
    """Return the signed checkpoint of a log of this size and root."""
    key_id, key = keyring.signer("record")
    signature = key.sign(signed_text(log, size, root.hex(), at_ms, key_id))
    return Checkpoint(
        log=log, size=size, root=root.hex(), at_ms=at_ms, key_id=key_id,
        public_key=base64url(key.public_key().public_bytes_raw()), signature=base64url(signature),
    )  # fmt: skip


def is_signed(checkpoint: Checkpoint) -> bool:
    """Say whether the key that a checkpoint names has signed it; whose key that is, is another question."""
    try:
        key = Ed25519PublicKey.from_public_bytes(from_base64url(checkpoint.public_key))
        key.verify(from_base64url(checkpoint.signature), text_of(checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True
