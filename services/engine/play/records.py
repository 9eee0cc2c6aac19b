"""The record of a finished match, signed, from the log."""

from __future__ import annotations

from services.engine.play.live import Live
from services.engine.play.views import Views
from services.engine.record import Header, Record, header_of, read_record, write_record
from services.runtime.tokens.tokens import Tokens


class Records:
    """Writes records. The signature is the same at every download, as long as the key is."""

    def __init__(self, views: Views, tokens: Tokens) -> None:
        """Read events through views, and sign with the service's record key."""
        self._views = views
        self._tokens = tokens

    async def lines(self, live: Live) -> list[bytes]:
        """Return the lines of the record of a match that is over, each with its line feed."""
        events = await self._views.events(live, 0, live.head.version)
        key_id, key = self._tokens.keyring.signer("record")
        header: Header = header_of(events[0], key_id=key_id, public_key=key.public_key().public_bytes_raw())
        return list(write_record(header, events, self._tokens.sign))

    async def record(self, live: Live) -> Record:
        """Return the record of a match that is over, read back as anybody else would read it."""
        return read_record(await self.lines(live))
