"""The record of a finished match, signed, from the log."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from services.engine.play.live import Live
from services.engine.play.views import Views
from services.engine.record import Header, Record, header_of, read_record, write_record
from services.runtime.tokens.tokens import Tokens
from services.runtime.tree import LogProofs

PATIENCE_SECONDS: Final = 3.0
"""How long a record waits for its receipt: the sealer needs a second after the end of a match."""


class Written(Struct, frozen=True):
    """The lines of a record, each with its line feed; ``final`` says that it is the same at every other download."""

    lines: list[bytes]
    final: bool


class Records:
    """Writes records. They are the same at every download, as long as the key is, once the match has its receipt."""

    def __init__(self, views: Views, tokens: Tokens, proofs: LogProofs) -> None:
        """Read events through views, sign with the service's record key, and take receipts from the tree."""
        self._views = views
        self._tokens = tokens
        self._proofs = proofs

    async def write(self, live: Live, patience_seconds: float = PATIENCE_SECONDS) -> Written:
        """Return the record of a match that is over, with its receipt if that is there or comes soon."""
        events = await self._views.events(live, 0, live.head.version)
        key_id, key = self._tokens.keyring.signer("record")
        header: Header = header_of(events[0], key_id=key_id, public_key=key.public_key().public_bytes_raw())
        head = events[-1].head
        receipt = await self._proofs.receipt_soon(live.match.started.match, head.version, patience_seconds)
        return Written(list(write_record(header, events, self._tokens.sign, receipt)), receipt is not None)

    async def record(self, live: Live) -> Record:
        """Return the record of a match that is over, read back as anybody else would read it."""
        return read_record((await self.write(live, 0)).lines)
