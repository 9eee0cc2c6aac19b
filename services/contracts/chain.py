"""The hash chain of a stream, and the seal over what must stay hidden.

Both are defined over exact bytes, so that any language can recompute them from a record
(docs/record.md). A stream's first event has 32 zero bytes as its previous hash.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

CHAIN: Final = b"macao-chain/1"
SEAL: Final = b"macao-seal/1"
GENESIS: Final = bytes(32)

SALT_BYTES: Final = 16


def event_hash(
    previous: bytes,
    stream: str,
    version: int,
    kind: str,
    schema: int,
    actor: str,
    command: str,
    at_ms: int,
    cause: bytes | None,
    body: bytes,
    seal: bytes | None,
) -> bytes:
    """Return the 32 bytes that bind an event to all that came before it in its stream.

    The preimage is twelve lines joined by a line feed: the scheme, the previous hash in hex, stream,
    version, type, schema, actor, command, time in ms, seal in hex, cause, body; ``-`` stands for no
    seal and for no cause. No part can hold a line feed: ids and numbers have none, and compact JSON
    escapes it.
    """
    head = f"{previous.hex()}\n{stream}\n{version}\n{kind}\n{schema}\n{actor}\n{command}\n{at_ms}\n"
    return sha256(
        b"%b\n%b%b\n%b\n%b"
        % (CHAIN, head.encode(), seal.hex().encode() if seal else b"-", cause or b"-", body)
    ).digest()


def seal_of(salt: bytes, sealed: bytes) -> bytes:
    """Return the commitment to a sealed body: who has salt and body can check it, who has neither learns nothing."""
    return sha256(b"%b\n%b\n%b" % (SEAL, salt.hex().encode(), sealed)).digest()
