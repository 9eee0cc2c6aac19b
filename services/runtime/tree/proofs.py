"""What is read from the tree: checkpoints, proofs and receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from services.contracts.checkpoint import Checkpoint, Receipt
from services.contracts.loss import Loss
from services.contracts.merkle import Range, Subtree, consistency_ranges, inclusion_ranges
from services.runtime.log import EventLog
from services.runtime.tree.store import MissingNodeError, TreeStore

CHECKPOINTS_MAX: Final = 1000
LOOK_SECONDS: Final = 0.1
"""How often somebody who waits for a receipt looks for it."""


class NotSealedError(Exception):
    """The log is not sealed that far, or a part of the tree is just being written again.

    Attributes:
        size: how far it is.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"the log is sealed up to position {size}")
        self.size = size


class LogProofs:
    """Answers from what the sealer, of this process or another, has written."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._database = log.database
        self._store = TreeStore(log.name, log.schema)

    async def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint, None before the first."""
        return await self._store.newest(self._database.pool)

    async def checkpoints(self, after: int, limit: int) -> Sequence[Checkpoint]:
        """Return checkpoints of more than ``after`` events, by size, at most ``limit`` and ``CHECKPOINTS_MAX``."""
        return await self._store.checkpoints(self._database.pool, after, min(limit, CHECKPOINTS_MAX))

    async def losses(self) -> list[Loss]:
        """Return the losses that were declared, in their order."""
        return await self._store.losses(self._database.pool)

    async def position_of(self, stream: str, version: int) -> int | None:
        """Return where in the log an event stands, None if there is no such event."""
        return await self._store.position_of(self._database.pool, stream, version)

    async def inclusion(self, position: int, size: int) -> tuple[bytes, list[bytes]]:
        """Return the hash of a leaf, and the proof that it is in the tree of this size.

        Raises:
            NotSealedError: the tree is not that large yet.
            ValueError: no tree of this size has this position.
        """
        ranges = inclusion_ranges(position - 1, size)
        newest = await self._sealed(size)
        try:
            leaf = await self._store.node(self._database.pool, Subtree(0, position - 1))
            return leaf, await self._hashes(ranges)
        except MissingNodeError as error:
            raise NotSealedError(newest) from error

    async def consistency(self, first: int, second: int) -> list[bytes]:
        """Return the proof that the tree of the second size begins with that of the first.

        Raises:
            NotSealedError: the tree is not that large yet.
            ValueError: the sizes are not in this order.
        """
        ranges = consistency_ranges(first, second)
        newest = await self._sealed(second)
        try:
            return await self._hashes(ranges)
        except MissingNodeError as error:
            raise NotSealedError(newest) from error

    def of(self, log: str) -> LogProofs | None:
        """Return the proofs of one of several logs by its name; None if there is no such log."""
        found = next((part for part in self._log.parts if part.name == log), None)
        return None if found is None else self if found is self._log else LogProofs(found)

    def of_stream(self, stream: str) -> LogProofs:
        """Return the proofs of the log that a stream lives in."""
        part = self._log.part_of(stream)
        return self if part is self._log else LogProofs(part)

    async def receipt(self, stream: str, version: int) -> Receipt | None:
        """Return the receipt of an event, None if there is no such event, or it is not sealed yet."""
        proofs = self.of_stream(stream)
        if proofs is not self:
            return await proofs.receipt(stream, version)
        position = await self.position_of(stream, version)
        if position is None:
            return None
        checkpoint = await self._store.first_covering(self._database.pool, position)
        if checkpoint is None:
            return None
        try:
            proof = await self._hashes(inclusion_ranges(position - 1, checkpoint.size))
        except MissingNodeError:
            return None  # the tiles were thrown away, and are being written again
        return Receipt(position=position, proof=tuple(part.hex() for part in proof), checkpoint=checkpoint)

    async def receipt_soon(self, stream: str, version: int, patience_seconds: float) -> Receipt | None:
        """Return the receipt of an event; wait a little for the sealer, if that has not come so far."""
        deadline = asyncio.get_running_loop().time() + patience_seconds
        while True:
            receipt = await self.receipt(stream, version)
            if receipt is not None or asyncio.get_running_loop().time() >= deadline:
                return receipt
            await asyncio.sleep(LOOK_SECONDS)

    async def _hashes(self, ranges: Sequence[Range]) -> list[bytes]:
        return [await self._store.range_hash(self._database.pool, part) for part in ranges]

    async def _sealed(self, size: int) -> int:
        """Return how far the log is sealed, if that is far enough."""
        newest = await self.newest()
        if newest is None or newest.size < size:
            raise NotSealedError(newest.size if newest else 0)
        return newest.size
