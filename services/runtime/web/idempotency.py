"""Idempotency keys: how a retry is recognised."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from msgspec import Struct

from services.runtime.web.problems import Problem

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"

_FORM: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")

_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# Two characters at a time: the library's function is written in Python and takes ten times as long.
_PAIRS: Final = tuple(first + second for first in _BASE32 for second in _BASE32)


class Command(Struct, frozen=True):
    """What a write asks for, as far as retries are concerned.

    Attributes:
        id: the command id under which the log remembers the outcome.
        hash: SHA-256 over method, path and body; the same id with another hash is another request.
    """

    id: str
    hash: bytes


def key_of(header: str | None) -> str | None:
    """Return the idempotency key of a request, or None if it has none.

    Raises:
        Problem: ``idempotency-key-malformed``.
    """
    if header is None:
        return None
    # The IETF draft writes the key as a quoted string; most clients do not. Both are taken, as the same key.
    key = header[1:-1] if len(header) > 1 and header[0] == header[-1] == '"' else header
    if _FORM.fullmatch(key) is None:
        raise Problem("idempotency-key-malformed")
    return key


def command_id(actor: str, key: str) -> str:
    """Return the id of the command that ``actor`` names ``key``: ``c_`` and 130 bits of SHA-256 in base32."""
    number = int.from_bytes(sha256(f"{actor}\0{key}".encode()).digest()[:17], "big") >> 6
    return "c_" + "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def request_hash(method: str, path: str, body: bytes) -> bytes:
    """Return what tells two requests under one key apart."""
    return sha256(b"%b\n%b\n%b" % (method.encode(), path.encode(), body)).digest()
