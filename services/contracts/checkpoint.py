"""What the service signs about its whole log, and the receipt that puts one match into it.

A checkpoint says: at this time the log had so many events, and this is the root of the tree over them. Two checkpoints
that do not fit together prove, signed by the service itself, that history was rewritten.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from services.contracts.merkle import PROOF_MAX, SIZE_MAX, included, leaf_hash

CHECKPOINT: Final = "macao-checkpoint/1"

Hex32 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Size = Annotated[int, Meta(ge=1, le=SIZE_MAX)]


class Checkpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The log at one time, signed.

    Attributes:
        log: the name of the log, ``main``.
        size: how many events it had: positions 1 to ``size``.
        root: the root of the tree over them (RFC 6962), 64 hex digits.
        at_ms: when that was, Unix time in milliseconds.
        key_id: names the key that signed, one of those with the purpose ``record``.
        public_key: that key, 32 bytes in base64url. It proves who signed only to those who know it from elsewhere.
        signature: Ed25519 over ``signed_text``, 64 bytes in base64url.
    """

    log: Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9]{0,31}\Z")]
    size: Size
    root: Hex32
    at_ms: Annotated[int, Meta(ge=0, le=SIZE_MAX)]
    key_id: Annotated[str, Meta(pattern=r"\A[!-~]{1,200}\Z")]
    public_key: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{43}\Z")]
    signature: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{86}\Z")]


class Receipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The proof that an event lies in the log of a checkpoint.

    Attributes:
        position: where in the log the event stands, from 1.
        proof: the inclusion proof, from the leaf's sibling up to the root.
        checkpoint: the first one that covers the event, so that a match has one receipt for ever.
    """

    position: Size
    proof: Annotated[tuple[Hex32, ...], Meta(max_length=PROOF_MAX)]
    checkpoint: Checkpoint


class MatchReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt together with what it is for, so that it can be kept and checked alone.

    Attributes:
        match: the match.
        version: the version of its last event.
        hash: that event's hash, 64 hex digits; it covers the whole match.
    """

    match: Annotated[str, Meta(pattern=r"\A[!-~]{1,200}\Z")]
    version: Size
    hash: Hex32
    receipt: Receipt


def signed_text(log: str, size: int, root: str, at_ms: int, key_id: str) -> bytes:
    """Return the exact bytes that are signed: the scheme, log, size, root, time, key, each on a line."""
    return f"{CHECKPOINT}\n{log}\n{size}\n{root}\n{at_ms}\n{key_id}".encode()


def text_of(checkpoint: Checkpoint) -> bytes:
    """Return the exact bytes that the signature of a checkpoint is over."""
    return signed_text(checkpoint.log, checkpoint.size, checkpoint.root, checkpoint.at_ms, checkpoint.key_id)


def proves(receipt: Receipt, stream: str, version: int, event_hash: bytes) -> bool:
    """Say whether a receipt puts this event into its checkpoint's log; who signed that is another question."""
    checkpoint = receipt.checkpoint
    leaf = leaf_hash(receipt.position, stream, version, event_hash)
    proof = [bytes.fromhex(part) for part in receipt.proof]
    return included(leaf, receipt.position - 1, checkpoint.size, proof, bytes.fromhex(checkpoint.root))
