"""Who vouches for a record: the Ed25519 signature over its header and the end of its chain."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from services.contracts.base64url import from_base64url
from services.engine.audit.verdict import Ledger
from services.engine.record import Sheet, signed_message


def check_signature(sheet: Sheet, public_keys: Mapping[str, bytes] | None, ledger: Ledger) -> None:
    """Verify the signature, with a key known from elsewhere where ``public_keys`` (by id) are given."""
    header, closing, line = sheet.header, sheet.closing, sheet.closing_line
    if header is None or closing is None:
        return  # what is missing has been found already
    try:
        key, signature = from_base64url(header.public_key), from_base64url(closing.signature)
    except ValueError:
        ledger.add(
            "signature", line, None, "the public key or the signature is not base64url in its one form"
        )
        return
    if public_keys is not None:
        known = public_keys.get(header.key_id)
        if known != key:
            reason = (
                "is not among the keys that were given" if known is None else "is another key under that id"
            )
            ledger.add("signature", line, None, f"the key {header.key_id} of this record {reason}")
            return
        ledger.key_known = True
    message = signed_message(header, closing.version, closing.hash, closing.events)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        ledger.add(
            "signature", line, None,
            f"the key {header.key_id} did not sign this header with this end of the chain",
        )  # fmt: skip
