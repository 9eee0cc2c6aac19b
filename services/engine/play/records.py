"""The record of a match that is over, signed, from the log."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from services.contracts.envelope import Event, Head
from services.engine.play.commitments import Commitments
from services.engine.record import Sheet, read_sheet, write_as_stored
from services.runtime.log import EventLog
from services.runtime.tokens.tokens import Tokens
from services.runtime.tree import LogProofs

PATIENCE_SECONDS: Final = 3.0
"""How long a record waits for its receipt: the sealer needs a second after the end of a match."""

PAGE_EVENTS: Final = 1000


class Written(Struct, frozen=True):
    """The lines of a record, each with its line feed.

    Attributes:
        version: that of the match.
        final: it is the same at every other download, unless a ruling voids the match.
    """

    lines: list[bytes]
    version: int
    final: bool


class Records:
    """Writes records. They are the same at every download, as long as the key is, once the match has its receipt.

    A match that was changed below the service has a record too: without one nobody could see what was changed.
    """

    def __init__(self, log: EventLog, commitments: Commitments, tokens: Tokens, proofs: LogProofs) -> None:
        """Read a log, sign with the service's record key, and take receipts from the tree."""
        self._log = log
        self._commitments = commitments
        self._tokens = tokens
        self._proofs = proofs

    async def is_revealed(self, match: str) -> bool:
        """Say whether the seed of a match is public, so that nothing of it is secret any more.

        Unlike the stream this outlives an end that somebody cut off.
        """
        return await self._commitments.is_revealed(match)

    async def write(self, match: str, patience_seconds: float = PATIENCE_SECONDS) -> Written:
        """Return the record of a match that is over, with its receipt if that is there or comes soon."""
        events = await self._events(match)
        head = await self._log.head_of(match) or (events[-1].head if events else Head())
        whole = _is_whole(events, head)
        receipt = await self._proofs.receipt_soon(match, head.version, patience_seconds if whole else 0)
        key_id, key = self._tokens.keyring.signer("record")
        lines = write_as_stored(
            match, events, head, self._tokens.sign, receipt,
            key_id=key_id, public_key=key.public_key().public_bytes_raw(),
        )  # fmt: skip
        return Written(list(lines), head.version, whole and receipt is not None)

    async def sheet(self, match: str) -> Sheet:
        """Return the record of a match that is over, read back as anybody else would read it."""
        return read_sheet((await self.write(match, 0)).lines)

    async def _events(self, match: str) -> list[Event]:
        events: list[Event] = []
        while True:
            after = events[-1].version if events else 0
            page = await self._log.read_stream(match, after, PAGE_EVENTS)
            events += (recorded.event for recorded in page)
            if len(page) < PAGE_EVENTS:
                return events


def _is_whole(events: list[Event], head: Head) -> bool:
    at = Head()
    for event in events:
        linked = (event.version, event.previous) == (at.version + 1, at.hash)
        if not linked or event.recomputed_hash() != event.hash:
            return False
        at = event.head
    return at == head
