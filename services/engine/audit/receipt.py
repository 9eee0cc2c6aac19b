"""The match's place in the log of the whole service: the receipt in the closing line."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from services.contracts.base64url import from_base64url
from services.contracts.checkpoint import Checkpoint, proves, text_of
from services.engine.audit.verdict import Ledger
from services.engine.record import Sheet


def check_receipt(sheet: Sheet, public_keys: Mapping[str, bytes] | None, ledger: Ledger) -> None:
    """Check that the closing line's event lies in the log of the receipt's checkpoint, and who signed that.

    A record without a receipt is no worse; it was written before the log was sealed.
    """
    if sheet.closing is None or sheet.closing.receipt is None:
        return
    closing, receipt, line = sheet.closing, sheet.closing.receipt, sheet.closing_line
    stream = next((entry.event.stream for entry in sheet.entries if entry.event is not None), "")
    if not proves(receipt, stream, closing.version, bytes.fromhex(closing.hash)):
        ledger.add(
            "receipt", line, None,
            f"the receipt does not prove that this match stands at position {receipt.position} of the log",
        )  # fmt: skip
        return
    problem = why_unsigned(receipt.checkpoint, public_keys)
    if problem:
        ledger.add("receipt", line, None, problem)
        return
    ledger.receipt_size = receipt.checkpoint.size


def why_unsigned(checkpoint: Checkpoint, public_keys: Mapping[str, bytes] | None) -> str | None:
    """Say why the service did not sign a checkpoint, None if it did.

    Args:
        checkpoint: the checkpoint.
        public_keys: the service's keys by id; None to take the word of the checkpoint for its key.
    """
    try:
        key, signature = from_base64url(checkpoint.public_key), from_base64url(checkpoint.signature)
    except ValueError:
        return "the checkpoint's key or signature is not base64url in its one form"
    if public_keys is not None and public_keys.get(checkpoint.key_id) != key:
        known = checkpoint.key_id in public_keys
        reason = "is another key under that id" if known else "is not among the keys that were given"
        return f"the key {checkpoint.key_id} of this checkpoint {reason}"
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text_of(checkpoint))
    except (InvalidSignature, ValueError):
        return f"the key {checkpoint.key_id} did not sign this checkpoint"
    return None
