"""The log from its first position to its last: the tree grown anew, and held against the tiles and every checkpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from asyncpg import Connection

from services.cli.auditing.findings import LogFinding, Report
from services.contracts.base64url import base64url
from services.contracts.checkpoint import Checkpoint
from services.contracts.loss import Loss, counts
from services.runtime.tree.outside import OutsideFile, UnreadableLine
from services.runtime.tree.signing import is_signed
from services.runtime.tree.store import TreeStore
from services.runtime.tree.tiles import Edge, Tile

PAGE_MAX: Final = 4096
CHECKPOINTS_MAX: Final = 500

PUBLISHED: Final = "published"
OUTSIDE: Final = "outside the database"


async def walk_tree(
    connection: Connection[Any],
    store: TreeStore,
    end: int,
    outside: OutsideFile | None,
    keys: Mapping[str, bytes],
    report: Report,
) -> None:
    """Grow the tree up to a position, and compare.

    Args:
        connection: reads the log.
        store: the log's tree.
        end: the position to stop at, that of the log's last event or an earlier one.
        outside: the checkpoints kept outside the database, if there are any.
        keys: the keys that may have signed, by id.
        report: takes the findings.
    """
    losses = await _losses(connection, store, outside, keys, report)
    anchors = {loss.kept: loss for loss in losses}
    published = _Source(PUBLISHED, aiter(_published(connection, store)), keys, report)
    kept = _Source(OUTSIDE, aiter(_kept(outside, losses)), keys, report)
    sources = (published, kept)
    for source in sources:
        await source.advance()
    edge = Edge()
    missing_tiles = 0
    while edge.size < end:
        leaves = await store.leaves(connection, edge.size, min(PAGE_MAX, end - edge.size))
        if not leaves or leaves[0].position != edge.size + 1:
            report.add(
                LogFinding("tree", "an event is missing here; positions have no gap", position=edge.size + 1)
            )
            return  # every hash above would differ: nothing else could be told apart
        for leaf in leaves:
            if leaf.position != edge.size + 1:
                break  # the next page begins with the gap
            for tile in edge.append(leaf.hash):
                missing_tiles += await _is_missing(connection, store, tile, report)
            report.tally.events += 1
            if edge.size in anchors and anchors[edge.size].root != edge.root.hex():
                report.add(
                    LogFinding(
                        "checkpoint",
                        f"the loss that was declared kept the first {edge.size} events, and they are others now:"
                        " history was rewritten after it was signed",
                        position=edge.size,
                    )
                )
            for source in sources:
                while source.next_size == edge.size:
                    source.compare(edge.root)
                    await source.advance()
        report.progress(len(leaves))
    if missing_tiles and published.newest_size > edge.size - edge.size % 256:
        report.add(
            LogFinding("tree", f"{missing_tiles} tiles of the sealed tree are missing in the database")
        )
    await _look_beyond(connection, store, sources, report)


async def _look_beyond(
    connection: Connection[Any], store: TreeStore, sources: tuple[_Source, ...], report: Report
) -> None:
    """See to it that no checkpoint says more than there is; what was sealed since the audit began is not looked at."""
    for source in sources:
        while source.next_size:
            if not await store.leaves(connection, source.next_size - 1, 1):
                report.add(
                    LogFinding(
                        "checkpoint",
                        f"a checkpoint of {source.next_size} events was signed ({source.name}),"
                        " and the log has lost its end since",
                        position=source.next_size,
                    )
                )
                break
            await source.advance()


async def _is_missing(connection: Connection[Any], store: TreeStore, tile: Tile, report: Report) -> bool:
    """Compare a tile with the one that is kept; say whether there is none."""
    kept = await store.tile(connection, tile.level, tile.number)
    if kept is None:
        return True
    if kept != tile:
        width = 256 ** (tile.level + 1)
        report.add(
            LogFinding(
                "tree",
                f"the tree that is kept in the database is not that of the events up to position"
                f" {(tile.number + 1) * width} (level {tile.level})",
                position=tile.number * width + 1,
            )
        )
    return False


class _Source:
    """Checkpoints from one place, one after the other.

    Attributes:
        next_size: the size of the next checkpoint, 0 when there are no more.
        newest_size: that of the largest so far.
    """

    def __init__(
        self,
        name: str,
        items: AsyncIterator[Checkpoint | UnreadableLine],
        keys: Mapping[str, bytes],
        report: Report,
    ) -> None:
        self.name = name
        self.next_size = 0
        self.newest_size = 0
        self._items = items
        self._keys = keys
        self._report = report
        self._next: Checkpoint | None = None

    async def advance(self) -> None:
        """Go to the next checkpoint that can be compared; tell of those that cannot."""
        while True:
            item = await anext(self._items, None)
            if item is None:
                self._next, self.next_size = None, 0
                return
            if isinstance(item, UnreadableLine):
                self._add(
                    f"line {item.line} of the checkpoints {self.name} was changed: {item.problem}", None
                )
                continue
            problem = self._problem_of(item)
            if problem is not None:
                self._add(problem, item.size)
                continue
            self._next, self.next_size, self.newest_size = item, item.size, item.size
            return

    def compare(self, root: bytes) -> None:
        """Compare the next checkpoint with the root of the tree of its size."""
        if self._next is None:
            return
        if self.name == PUBLISHED:
            self._report.tally.checkpoints += 1
        else:
            self._report.tally.outside += 1
        self._report.tally.newest = max(self._report.tally.newest, self._next.size)
        if self._next.root != root.hex():
            self._add(
                f"the checkpoint {self.name} over the first {self._next.size} events has another root than they have:"
                " history was rewritten after it was signed",
                self._next.size,
            )

    def _problem_of(self, checkpoint: Checkpoint) -> str | None:
        if not is_signed(checkpoint):
            return f"the checkpoint {self.name} of {checkpoint.size} events is not signed by the key that it names"
        known = self._keys.get(checkpoint.key_id)
        if known is None or base64url(known) != checkpoint.public_key:
            return f"the checkpoint {self.name} of {checkpoint.size} events has a key that is none of the service's"
        if checkpoint.size <= self.newest_size:
            return f"a checkpoint {self.name} of {checkpoint.size} events stands behind one of {self.newest_size}"
        return None

    def _add(self, text: str, position: int | None) -> None:
        self._report.add(LogFinding("checkpoint", text, position=position))


async def _published(connection: Connection[Any], store: TreeStore) -> AsyncIterator[Checkpoint]:
    size = 0
    while page := await store.checkpoints(connection, size, CHECKPOINTS_MAX):
        for checkpoint in page:
            yield checkpoint
        size = page[-1].size


async def _kept(
    outside: OutsideFile | None, losses: Sequence[Loss]
) -> AsyncIterator[Checkpoint | UnreadableLine]:
    for line in () if outside is None else outside.read():
        match line:
            case Checkpoint() if counts(line, losses):
                yield line
            case UnreadableLine():
                yield line
            case _:
                pass


async def _losses(
    connection: Connection[Any],
    store: TreeStore,
    outside: OutsideFile | None,
    keys: Mapping[str, bytes],
    report: Report,
) -> list[Loss]:
    """Return the losses that the service declared, in the database and outside; one that it did not sign is found."""
    found = {loss.at_ms: loss for loss in await store.losses(connection)}
    for line in () if outside is None else outside.read():
        if isinstance(line, Loss):
            found[line.at_ms] = line
    sound: list[Loss] = []
    for loss in (found[at_ms] for at_ms in sorted(found)):
        known = keys.get(loss.key_id)
        if is_signed(loss) and known is not None and base64url(known) == loss.public_key:
            sound.append(loss)
        else:
            text = (
                f"a loss of what was signed behind {loss.kept} events is not signed by a key of the service"
            )
            report.add(LogFinding("checkpoint", text, position=loss.kept))
    report.tally.losses += sound
    return sound
