"""One line of the commands log, and how little of a command it keeps."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.contracts.events.dispute import Arrived
from services.engine.rules.kernel import Move

MOVE_BYTES_MAX: Final = 256
"""The most that is kept of a move; of a longer one only its type."""

WORD_CHARACTERS_MAX: Final = 16
"""Longer words are cut out: no card, suit or type of move is as long, and a secret that strayed into one is longer."""

_LONG_WORD: Final = re.compile(rb'"(?:[^"\\]|\\.){%d,}"' % (WORD_CHARACTERS_MAX + 1))
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Entry(Struct, frozen=True):
    """A command as it is written down.

    Attributes:
        match: the match that it was sent to.
        request_id: names the request in the service's logs.
    """

    match: str
    arrived: Arrived
    request_id: str


def kept_move(move: Move) -> dict[str, Any]:
    """Return what is kept of a move: the whole of every sensible one, and never a text long enough to be a secret.

    It is written anew from the move that was understood, so nothing else of the request's body is in it.
    """
    written = _LONG_WORD.sub(b'"..."', _encode(move))
    if len(written) > MOVE_BYTES_MAX:
        return {"type": move.__struct_config__.tag}
    return _decode(written)
