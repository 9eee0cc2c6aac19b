"""The tree in tiles of 256 hashes: which tile holds which node, and the right edge that is still growing.

A tile at level n holds 256 neighbouring nodes of height 8 n. So the tree of a log of any length is a few short rows of
complete tiles, each written once, and fewer than 256 hashes a level that belong to no complete tile yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from services.contracts.merkle import HASH_BYTES, Subtree, joined, node_hash, subtrees

HEIGHT: Final = 8
WIDTH: Final = 1 << HEIGHT


class Tile(NamedTuple):
    """A complete tile: the hashes of 256 neighbours, one after the other, and the node over them."""

    level: int
    number: int
    root: bytes
    hashes: bytes


class Place(NamedTuple):
    """Where a node is found: it is over ``width`` elements of a tile, the first of them at ``offset``."""

    level: int
    tile: int
    offset: int
    width: int


def place_of(node: Subtree) -> Place:
    """Return where to find a node."""
    level, height = divmod(node.height, HEIGHT)
    first = node.number << height
    return Place(level, first >> HEIGHT, first & (WIDTH - 1), 1 << height)


def elements(hashes: bytes, offset: int = 0, count: int = WIDTH) -> list[bytes]:
    """Return some of the hashes of a tile."""
    begin = offset * HASH_BYTES
    return [hashes[at : at + HASH_BYTES] for at in range(begin, begin + count * HASH_BYTES, HASH_BYTES)]


def over(hashes: Sequence[bytes]) -> bytes:
    """Return the node over neighbours, whose number is a power of two."""
    level = list(hashes)
    while len(level) > 1:
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0]


class Edge:
    """The right edge of a growing tree: at each level the hashes that no complete tile holds yet.

    Args:
        levels: those hashes, fewer than 256 a level.
        tiles: how many complete tiles there are at level 0.
    """

    def __init__(self, levels: Sequence[Sequence[bytes]] = (), tiles: int = 0) -> None:
        self._levels = [list(level) for level in levels] or [[]]
        self.size = tiles * WIDTH + len(self._levels[0])

    def append(self, leaf: bytes) -> list[Tile]:
        """Take the next leaf's hash, and return the tiles that it completes, from level 0 up; mostly none."""
        complete: list[Tile] = []
        self.size += 1
        level, number, digest = 0, self.size, leaf
        while True:
            if level == len(self._levels):
                self._levels.append([])
            row = self._levels[level]
            row.append(digest)
            if len(row) < WIDTH:
                return complete
            number >>= HEIGHT
            digest = over(row)
            complete.append(Tile(level, number - 1, digest, b"".join(row)))
            row.clear()
            level += 1

    @property
    def root(self) -> bytes:
        """The root over all leaves so far."""
        nodes: list[bytes] = []
        for row in reversed(self._levels):
            for part in subtrees((0, len(row))):
                begin = part.number << part.height
                nodes.append(over(row[begin : begin + (1 << part.height)]))
        return joined(nodes)
