"""The words of complaints and rulings: beside the log, under the seals that events hold, so that they can be erased."""

from __future__ import annotations

import logging
from typing import Any, Final, Literal

from msgspec.structs import replace

from services.contracts.chain import SALT_BYTES, seal_of
from services.contracts.events.dispute import Words
from services.engine.disputes.dispute import Dispute
from services.runtime.clock import Entropy
from services.runtime.database import Database

ERASED: Final = "(These words were erased.)"

Part = Literal["complaint", "reasons"]

_logger: Final = logging.getLogger(__name__)


class DisputeWords:
    """Keeps words, finds those of a dispute, forgets those that no event came to hold."""

    def __init__(self, database: Database, entropy: Entropy) -> None:
        """Keep them in a database."""
        self._database = database
        self._entropy = entropy

    async def keep(self, words: str, part: Part, *, dispute: str, author: str, players: list[str]) -> Words:
        """Keep words and return what an event may hold of them; ``players`` sat in the match.

        They are kept before the event is written: words without an event are nothing, a seal without words is lost.
        """
        salt = self._entropy(SALT_BYTES)
        seal = seal_of(salt, words.encode())
        await self._database.pool.execute(
            "insert into macao_engine.dispute_words (seal, dispute, part, author, players, salt, words)"
            " values ($1, $2, $3, $4, $5, $6, $7)",
            seal, dispute, part, author, players, salt, words,
        )  # fmt: skip
        return Words(seal.hex())

    async def drop(self, words: Words) -> None:
        """Forget words whose event was not written after all."""
        await self._database.pool.execute(
            "delete from macao_engine.dispute_words where seal = $1", bytes.fromhex(words.seal)
        )

    async def spoken(self, dispute: Dispute) -> Dispute:
        """Return a dispute with its words filled in; those that are gone are said to be erased."""
        rows: Any = await self._database.pool.fetch(
            "select seal, salt, words from macao_engine.dispute_words where dispute = $1", dispute.id
        )
        kept = {row["seal"].hex(): (row["salt"], row["words"]) for row in rows}
        ruling = dispute.ruling
        if ruling is not None:
            ruling = replace(ruling, reasons=_text_of(ruling.sealed, kept, dispute.id))
        return replace(dispute, complaint=_text_of(dispute.opened.complaint, kept, dispute.id), ruling=ruling)


def _text_of(words: Words, kept: dict[str, tuple[bytes, str]], dispute: str) -> str:
    """Return the text under a seal. A text that does not fit its seal was changed: it is shown to nobody."""
    if words.text is not None:
        return words.text
    found = kept.get(words.seal)
    if found is None:
        return ERASED
    salt, text = found
    if seal_of(salt, text.encode()).hex() != words.seal:
        _logger.error("the words under the seal %s of %s were changed", words.seal, dispute)
        return ERASED
    return text
