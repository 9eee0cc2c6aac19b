"""The tree in the database: tiles, leaves (which are events) and checkpoints, and any node of the tree from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from asyncpg import Connection, Pool, Record

from services.contracts.base64url import base64url, from_base64url
from services.contracts.checkpoint import Checkpoint
from services.contracts.ids import DEFAULT_LOG
from services.contracts.loss import Loss
from services.contracts.merkle import Range, Subtree, joined, leaf_hash, subtrees
from services.runtime.tree.tiles import HEIGHT, WIDTH, Edge, Tile, elements, over, place_of

# In quotes: only the type stubs know these classes as generic.
Source: TypeAlias = "Connection[Any] | Pool[Any]"

_CHECKPOINT: Final = "size, at_ms, root, key_id, public_key, signature"
_LOSS: Final = "log, kept, root, lost, lost_root, at_ms, reason, key_id, public_key, signature"


def tree_schema_of(log: str) -> str:
    """Name the schema that the tree over a log lives in, beside the log."""
    return "macao_tree" if log == DEFAULT_LOG else f"macao_tree_{log}"


class MissingNodeError(Exception):
    """A part of the tree is asked for that the database does not hold."""


class Leaf(NamedTuple):
    """An event as the tree sees it."""

    position: int
    stream: str
    version: int
    event_hash: bytes

    @property
    def hash(self) -> bytes:
        """The hash of the leaf."""
        return leaf_hash(*self)


class TreeStore:
    """Reads and writes the tree of one log.

    Args:
        log: the log's name, as it stands in checkpoints.
        schema: the schema that holds its events.
    """

    def __init__(self, log: str, schema: str) -> None:
        self.log: Final = log
        self._tree = tree_schema_of(log)
        self._counts = (
            f"NOT EXISTS (SELECT FROM {self._tree}.losses AS l WHERE l.kept < c.size AND c.at_ms <= l.at_ms)"
        )
        self._leaves_sql = (
            f"SELECT position, stream, version, hash FROM {schema}.events"  # noqa: S608 - no value in it
            " WHERE position > $1 ORDER BY position LIMIT $2"
        )
        self._place_sql = f"SELECT position FROM {schema}.events WHERE stream = $1 AND version = $2"  # noqa: S608 - as above

    async def leaves(self, source: Source, after: int, limit: int) -> list[Leaf]:
        """Return leaves behind a position, in order; without a gap as far as the log has none."""
        return [Leaf(*row) for row in await source.fetch(self._leaves_sql, after, limit)]

    async def position_of(self, source: Source, stream: str, version: int) -> int | None:
        """Return where in the log an event stands, None if there is no such event."""
        position: int | None = await source.fetchval(self._place_sql, stream, version)
        return position

    async def write_tiles(self, source: Source, tiles: Iterable[Tile]) -> None:
        """Write complete tiles. Those that stand there already are kept: they are the same, or an audit finds them."""
        await source.executemany(
            f"INSERT INTO {self._tree}.tiles (level, number, root, hashes) VALUES ($1, $2, $3, $4)"  # noqa: S608 - as above
            " ON CONFLICT DO NOTHING",
            list(tiles),
        )

    async def edge(self, source: Source) -> Edge:
        """Return the tree as far as complete tiles reach.

        Raises:
            MissingNodeError: a tile is missing in between.
        """
        tiles: int = await source.fetchval(
            f"SELECT coalesce(max(number) + 1, 0) FROM {self._tree}.tiles WHERE level = 0"  # noqa: S608 - as above
        )
        levels: list[list[bytes]] = [[]]
        below = tiles
        while below:
            complete = below >> HEIGHT
            levels.append(await self._roots(source, len(levels) - 1, complete << HEIGHT, below))
            below = complete
        return Edge(levels, tiles)

    async def tile(self, source: Source, level: int, number: int) -> Tile | None:
        """Return a complete tile, None if it is not there."""
        row = await source.fetchrow(
            f"SELECT level, number, root, hashes FROM {self._tree}.tiles WHERE level = $1 AND number = $2",  # noqa: S608 - as above
            level,
            number,
        )
        return None if row is None else Tile(*row)

    async def node(self, source: Source, node: Subtree) -> bytes:
        """Return the hash of a complete node.

        Raises:
            MissingNodeError: the log is not that long, or the tree not sealed so far.
        """
        level, number, offset, count = place_of(node)
        tile = await self.tile(source, level, number)
        first = number * WIDTH + offset
        if tile is not None:
            hashes = elements(tile.hashes, offset, count)
        elif level:
            hashes = await self._roots(source, level - 1, first, first + count)
        else:
            leaves = await self.leaves(source, first, count)
            if [leaf.position for leaf in leaves] != list(range(first + 1, first + 1 + count)):
                raise MissingNodeError(
                    f"the log does not hold every event from {first + 1} to {first + count}"
                )
            hashes = [leaf.hash for leaf in leaves]
        return over(hashes)

    async def range_hash(self, source: Source, leaves: Range) -> bytes:
        """Return the hash over a range that a proof asks for; see ``node``."""
        return joined([await self.node(source, part) for part in subtrees(leaves)])

    async def root_at(self, source: Source, size: int) -> bytes:
        """Return the root of the tree of this size; see ``node``."""
        return await self.range_hash(source, (0, size))

    async def newest(self, source: Source) -> Checkpoint | None:
        """Return the last checkpoint that counts, None before the first."""
        row = await source.fetchrow(
            f"SELECT {_CHECKPOINT} FROM {self._tree}.checkpoints AS c WHERE {self._counts} ORDER BY size DESC LIMIT 1"  # noqa: S608 - no value in it
        )
        return None if row is None else self._checkpoint(row)

    async def first_covering(self, source: Source, position: int) -> Checkpoint | None:
        """Return the first checkpoint in whose tree a position lies, None if it is not sealed yet."""
        found = await self.checkpoints(source, position - 1, 1)
        return found[0] if found else None

    async def checkpoints(self, source: Source, after: int, limit: int) -> Sequence[Checkpoint]:
        """Return checkpoints of more than ``after`` events, by size: those that no loss has made void."""
        rows = await source.fetch(
            f"SELECT {_CHECKPOINT} FROM {self._tree}.checkpoints AS c WHERE size > $1 AND {self._counts}"  # noqa: S608 - as above
            " ORDER BY size LIMIT $2",
            after,
            limit,
        )
        return [self._checkpoint(row) for row in rows]

    async def losses(self, source: Source) -> list[Loss]:
        """Return the losses that were declared, in their order."""
        rows = await source.fetch(
            f"SELECT {_LOSS} FROM {self._tree}.losses WHERE log = $1 ORDER BY at_ms",  # noqa: S608 - as above
            self.log,
        )
        return [_loss(row) for row in rows]

    async def write_loss(self, source: Source, loss: Loss) -> None:
        """Write a loss, and throw away the tiles over what was lost. Wants the owner's rights."""
        await source.execute(
            f"INSERT INTO {self._tree}.losses ({_LOSS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",  # noqa: S608 - as above
            loss.log, loss.kept, bytes.fromhex(loss.root), loss.lost, bytes.fromhex(loss.lost_root), loss.at_ms,
            loss.reason, loss.key_id, from_base64url(loss.public_key), from_base64url(loss.signature),
        )  # fmt: skip
        await source.execute(
            f"DELETE FROM {self._tree}.tiles WHERE ((number + 1)::numeric * $2::numeric ^ (level + 1)) > $1",  # noqa: S608 - as above
            loss.kept,
            WIDTH,
        )

    async def write_checkpoint(self, source: Source, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; it may stand there already."""
        await source.execute(
            f"INSERT INTO {self._tree}.checkpoints ({_CHECKPOINT}) VALUES ($1, $2, $3, $4, $5, $6)"  # noqa: S608 - as above
            " ON CONFLICT DO NOTHING",
            checkpoint.size, checkpoint.at_ms, bytes.fromhex(checkpoint.root), checkpoint.key_id,
            from_base64url(checkpoint.public_key), from_base64url(checkpoint.signature),
        )  # fmt: skip

    def _checkpoint(self, row: Record) -> Checkpoint:
        size, at_ms, root, key_id, public_key, signature = row
        return Checkpoint(
            log=self.log, size=size, root=root.hex(), at_ms=at_ms, key_id=key_id,
            public_key=base64url(public_key), signature=base64url(signature),
        )  # fmt: skip

    async def _roots(self, source: Source, level: int, begin: int, end: int) -> list[bytes]:
        """Return the roots of neighbouring tiles: elements of the tile one level up, complete or not."""
        rows = await source.fetch(
            f"SELECT root FROM {self._tree}.tiles WHERE level = $1 AND number >= $2 AND number < $3 ORDER BY number",  # noqa: S608
            level,
            begin,
            end,
        )
        if len(rows) != end - begin:
            raise MissingNodeError(f"of the tiles {begin} to {end - 1} at level {level} some are missing")
        return [row[0] for row in rows]


def _loss(row: Record) -> Loss:
    log, kept, root, lost, lost_root, at_ms, reason, key_id, public_key, signature = row
    return Loss(
        log=log, kept=kept, root=root.hex(), lost=lost, lost_root=lost_root.hex(), at_ms=at_ms, reason=reason,
        key_id=key_id, public_key=base64url(public_key), signature=base64url(signature),
    )  # fmt: skip
