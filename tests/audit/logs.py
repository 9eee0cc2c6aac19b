"""A whole log in memory: the events of a match among others, and the receipt that a service would give for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.contracts.checkpoint import Checkpoint, Receipt, signed_text
from services.contracts.envelope import Event
from services.contracts.merkle import inclusion_ranges, leaf_hash, root_of
from services.engine.record import base64url
from tests.audit.play import KEY, KEY_ID, TABLE

AT_MS = 1_750_000_020_000


def leaves_of(events: Sequence[Event], before: int, after: int) -> list[bytes]:
    """The leaves of a log in which a match stands in one piece, among the events of a table."""
    others = [
        (TABLE, version, hashlib.sha256(b"%d" % version).digest()) for version in range(1, before + after + 1)
    ]
    own = [(event.stream, event.version, event.hash) for event in events]
    log = [*others[:before], *own, *others[before:]]
    return [leaf_hash(position, *event) for position, event in enumerate(log, 1)]


def checkpoint_over(
    leaves: Sequence[bytes],
    at_ms: int = AT_MS,
    key: Ed25519PrivateKey = KEY,
    key_id: str = KEY_ID,
) -> Checkpoint:
    root = root_of(leaves).hex()
    signature = key.sign(signed_text("main", len(leaves), root, at_ms, key_id))
    return Checkpoint(
        log="main", size=len(leaves), root=root, at_ms=at_ms, key_id=key_id,
        public_key=base64url(key.public_key().public_bytes_raw()), signature=base64url(signature),
    )  # fmt: skip


def receipt_of(leaves: Sequence[bytes], position: int, checkpoint: Checkpoint | None = None) -> Receipt:
    """The receipt for the event at a position of a log that is sealed at its end."""
    ranges = inclusion_ranges(position - 1, len(leaves))
    return Receipt(
        position=position,
        proof=tuple(root_of(leaves[begin:end]).hex() for begin, end in ranges),
        checkpoint=checkpoint or checkpoint_over(leaves),
    )
