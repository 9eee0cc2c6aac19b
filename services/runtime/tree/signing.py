"""Who signs checkpoints and losses: the service's record key, over bytes that are never taken for a record's."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec.structs import replace

from services.contracts.base64url import base64url, from_base64url
from services.contracts.checkpoint import Checkpoint, signed_text, text_of
from services.contracts.loss import Loss, loss_text
from services.runtime.tokens.keyring import Keyring


def sign_checkpoint(keyring: Keyring, log: str, size: int, root: bytes, at_ms: int) -> Checkpoint:
    """Return the signed checkpoint of a log of this size and root."""
    key_id, key = keyring.signer("record")
    signature = key.sign(signed_text(log, size, root.hex(), at_ms, key_id))
    return Checkpoint(
        log=log, size=size, root=root.hex(), at_ms=at_ms, key_id=key_id,
        public_key=base64url(key.public_key().public_bytes_raw()), signature=base64url(signature),
    )  # fmt: skip


def sign_loss(keyring: Keyring, loss: Loss) -> Loss:
    """Return a loss with our key and signature in place of what stands there."""
    key_id, key = keyring.signer("record")
    public = base64url(key.public_key().public_bytes_raw())
    named = replace(loss, key_id=key_id, public_key=public)
    return replace(named, signature=base64url(key.sign(loss_text(named))))


def is_signed(signed: Checkpoint | Loss) -> bool:
    """Say whether the key that something names has signed it; whose key that is, is another question."""
    text = loss_text(signed) if isinstance(signed, Loss) else text_of(signed)
    try:
        key = Ed25519PublicKey.from_public_bytes(from_base64url(signed.public_key))
        key.verify(from_base64url(signed.signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True
