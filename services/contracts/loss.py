"""What the service signs when a part of its log that it had signed is gone: after a failover or a restore that lost it.

Checkpoints over events that are lost contradict the log of today. They stay what they are, a proof that something else
was there; a loss says, signed and for everybody to see, which of them do not count any more, since when, and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import Meta, Struct

from services.contracts.checkpoint import Checkpoint, Hex32, Size
from services.contracts.merkle import SIZE_MAX

LOSS: Final = "macao-loss/1"
REASON_CHARS_MAX: Final = 500


class Loss(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of the log that is given up, signed.

    Attributes:
        log: the name of the log.
        kept: how many events are still those that were signed; 0 for none.
        root: the root of the tree over them.
        lost: how many events the largest checkpoint was over that does not count any more.
        lost_root: the root that it names.
        at_ms: when this was declared, Unix time in milliseconds. Checkpoints of more than ``kept`` events that are not
            younger do not count.
        reason: the operator's words.
        key_id: names the key that signed, one of those with the purpose ``record``.
        public_key: that key, 32 bytes in base64url.
        signature: Ed25519 over ``loss_text``, 64 bytes in base64url.
    """

    log: Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9]{0,31}\Z")]
    kept: Annotated[int, Meta(ge=0, le=SIZE_MAX)]
    root: Hex32
    lost: Size
    lost_root: Hex32
    at_ms: Annotated[int, Meta(ge=0, le=SIZE_MAX)]
    reason: Annotated[str, Meta(min_length=1, max_length=REASON_CHARS_MAX, pattern=r"\A[^\x00-\x1f\x7f]+\Z")]
    key_id: Annotated[str, Meta(pattern=r"\A[!-~]{1,200}\Z")]
    public_key: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{43}\Z")]
    signature: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{86}\Z")]

    def voids(self, checkpoint: Checkpoint) -> bool:
        """Say whether a checkpoint does not count any more."""
        return checkpoint.log == self.log and checkpoint.size > self.kept and checkpoint.at_ms <= self.at_ms


def loss_text(loss: Loss) -> bytes:
    """Return the exact bytes that are signed: the scheme, then the fields in their order, each on a line."""
    fields = (loss.log, loss.kept, loss.root, loss.lost, loss.lost_root, loss.at_ms, loss.reason, loss.key_id)
    return "\n".join((LOSS, *map(str, fields))).encode()


def counts(checkpoint: Checkpoint, losses: Iterable[Loss]) -> bool:
    """Say whether a checkpoint still counts."""
    return not any(loss.voids(checkpoint) for loss in losses)
