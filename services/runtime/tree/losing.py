"""Giving up an end of the log that was signed and is lost, so that what comes after can be sealed.

The sealer stops where the log contradicts what was signed, and it cannot tell an end that a restore has lost from a
history that somebody rewrote. Whether it is the one or the other, a person has to say. It is signed, kept outside the
database before it counts in it, and shown to everybody.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from asyncpg import Connection
from msgspec import Struct

from services.contracts.checkpoint import Checkpoint
from services.contracts.loss import Loss, counts
from services.runtime.clock import Clock
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree.outside import OutsideFile, UnreadableLine
from services.runtime.tree.sealer import sealer_lock
from services.runtime.tree.signing import is_signed, sign_loss
from services.runtime.tree.store import TreeStore
from services.runtime.tree.tiles import Edge

PAGE_MAX: Final = 4096
CHECKPOINTS_MAX: Final = 1000
EMPTY_ROOT: Final = sha256(b"").hexdigest()
"""The root of the tree over nothing (RFC 6962)."""


class LossError(Exception):
    """There is nothing to give up, or it may not be done now; the message says why, and what to do."""


class Found(Struct, frozen=True):
    """What a log still has of what was signed.

    Attributes:
        kept: the largest checkpoint that the log of today begins with, None if there is none.
        lost: the largest that it contradicts.
        end: the last position of the log of today.
    """

    kept: Checkpoint | None
    lost: Checkpoint
    end: int

    @property
    def events(self) -> int:
        """How many events were signed that the log of today does not show to have: the most that can be lost."""
        return self.lost.size - (self.kept.size if self.kept else 0)


class Losing:
    """The end of one log that is to be given up.

    Args:
        connection: with the rights of the schema's owner, in a session of its own.
        schema: the log's.
        outside: the checkpoints outside the database, None where there are none.
    """

    def __init__(
        self, connection: Connection[Any], log: str, schema: str, outside: OutsideFile | None
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._store = TreeStore(log, schema)
        self._outside = outside

    async def hold(self) -> None:
        """See to it that nobody seals meanwhile; until the session ends.

        Raises:
            LossError: somebody does, so nothing contradicts what was signed.
        """
        if not await self._connection.fetchval("SELECT pg_try_advisory_lock($1)", sealer_lock(self._schema)):
            raise LossError(
                "a process seals this log at this moment: it does not contradict what was signed there"
            )

    async def take_over(self) -> int:
        """Write losses into the database that stand outside only, as after a restore; return how many there were."""
        known = await self._store.losses(self._connection)
        outside = () if self._outside is None else self._outside.read()
        missing = [
            line for line in outside if isinstance(line, Loss) and line not in known and is_signed(line)
        ]
        for loss in missing:
            async with self._connection.transaction():
                await self._store.write_loss(self._connection, loss)
        return len(missing)

    async def look(self) -> Found:
        """Hold the log of today against everything that was signed about it.

        The tree is grown from the events alone: tiles may be those of what is lost.

        Raises:
            LossError: nothing is lost, or a line outside cannot be read.
        """
        checkpoints = await self._checkpoints()
        edge = Edge()
        kept: Checkpoint | None = None
        contradicted = False
        for checkpoint in checkpoints:
            await self._grow(edge, checkpoint.size)
            if edge.size < checkpoint.size or edge.root.hex() != checkpoint.root:
                contradicted = True
                break
            kept = checkpoint
        if not contradicted:
            raise LossError("nothing is lost: the log begins with everything that was signed")
        end = await self._connection.fetchval(
            f"SELECT coalesce(max(position), 0) FROM {self._schema}.events"  # noqa: S608 - no value in it
        )
        return Found(kept, checkpoints[-1], end)

    async def accept(self, found: Found, reason: str, keyring: Keyring, clock: Clock) -> Loss:
        """Declare what was found to be lost: outside first, then in the database.

        Raises:
            OSError: the file outside cannot be written; nothing was done.
            asyncpg.PostgresError: the database refuses it. If it stands outside, ``take_over`` brings it in.
        """
        loss = sign_loss(
            keyring,
            Loss(
                log=self._store.log,
                kept=found.kept.size if found.kept else 0,
                root=found.kept.root if found.kept else EMPTY_ROOT,
                lost=found.lost.size,
                lost_root=found.lost.root,
                at_ms=max(clock.now_ms(), found.lost.at_ms),
                reason=reason,
                key_id="",
                public_key="",
                signature="",
            ),
        )
        async with self._connection.transaction():
            await self._store.write_loss(self._connection, loss)
            if (
                found.kept is not None
            ):  # it may stand outside only; signed once more, it would be two of one size
                await self._store.write_checkpoint(self._connection, found.kept)
            if self._outside is not None:
                self._outside.append(loss)
        return loss

    async def _checkpoints(self) -> list[Checkpoint]:
        """Return every checkpoint that counts, in the database and outside, by size."""
        losses = await self._store.losses(self._connection)
        found: set[Checkpoint] = set()
        for line in () if self._outside is None else self._outside.read():
            match line:
                case UnreadableLine():
                    raise LossError(f"line {line.line} outside the database was changed: {line.problem}")
                case Loss():
                    losses.append(line)
                case Checkpoint():
                    found.add(line)
            if not is_signed(line):
                raise LossError("a line outside the database was changed: its signature is not right")
        after = 0
        while page := await self._store.checkpoints(self._connection, after, CHECKPOINTS_MAX):
            found.update(page)
            after = page[-1].size
        return sorted((one for one in found if counts(one, losses)), key=lambda one: (one.size, one.at_ms))

    async def _grow(self, edge: Edge, size: int) -> None:
        while edge.size < size:
            leaves = await self._store.leaves(self._connection, edge.size, min(PAGE_MAX, size - edge.size))
            if not leaves or leaves[0].position != edge.size + 1:
                return
            for leaf in leaves:
                if leaf.position != edge.size + 1:
                    return
                edge.append(leaf.hash)
