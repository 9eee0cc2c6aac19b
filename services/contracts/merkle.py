"""The Merkle tree over a log (RFC 6962, section 2.1): hashes, the parts of a proof, and whether a proof holds.

Leaves are numbered from 0; the event at position p of a log is leaf p - 1. Every node that is complete (its number of
leaves is a power of two) never changes again, whatever is appended: such a node is a ``Subtree``. Everything else is
worked out from those, from right to left. Pure, and of use without a service: who keeps a receipt needs only this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

LEAF: Final = b"macao-leaf/1"

HASH_BYTES: Final = 32
EMPTY_ROOT: Final = sha256(b"").digest()

SIZE_MAX: Final = 2**53 - 1
PROOF_MAX: Final = 54
"""The longest proof that there can be: a hash for each level of a tree of ``SIZE_MAX``, and one for where it begins."""


class Subtree(NamedTuple):
    """A complete node: it covers the ``2 ** height`` leaves from ``number * 2 ** height`` on."""

    height: int
    number: int


Range = tuple[int, int]
"""Leaves from the first number on, up to but without the second."""


def leaf_hash(position: int, stream: str, version: int, event_hash: bytes) -> bytes:
    """Return the hash of the leaf for an event: where it stands in the log, which event it is, and its hash."""
    data = b"%b\n%d\n%b\n%d\n%b" % (LEAF, position, stream.encode(), version, event_hash.hex().encode())
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node over two others."""
    return sha256(b"\x01" + left + right).digest()


def subtrees(leaves: Range) -> list[Subtree]:
    """Return the complete nodes that make up a range which a proof asks for, the largest first."""
    begin, end = leaves
    parts: list[Subtree] = []
    while begin < end:
        height = (end - begin).bit_length() - 1
        parts.append(Subtree(height, begin >> height))
        begin += 1 << height
    return parts


def joined(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over neighbouring nodes, the largest first, as ``subtrees`` lists them."""
    if not hashes:
        return EMPTY_ROOT
    *rest, root = hashes
    for left in reversed(rest):
        root = node_hash(left, root)
    return root


def inclusion_ranges(leaf: int, size: int) -> list[Range]:
    """Return the ranges whose hashes prove that a leaf is in the tree of this size, in the order of the proof.

    Raises:
        ValueError: the tree has no such leaf.
    """
    if not 0 <= leaf < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {leaf}")
    ranges: list[Range] = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _left_of(end - begin)
        if leaf < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin = middle
    return ranges[::-1]


def consistency_ranges(first: int, second: int) -> list[Range]:
    """Return the ranges whose hashes prove that the tree of the second size begins with that of the first.

    Raises:
        ValueError: the first size is not from 1 to the second.
    """
    if not 0 < first <= second:
        raise ValueError(f"a tree of {second} leaves does not grow out of one of {first}")
    ranges: list[Range] = []
    begin, end = 0, second
    while end != first:
        middle = begin + _left_of(end - begin)
        if first <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin = middle
    if begin:
        ranges.append((begin, end))  # where it begins at 0, this is the first root, which the verifier has
    return ranges[::-1]


def included(leaf: bytes, number: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Say whether a proof shows that the leaf with this hash and number is in the tree of this size and root."""
    if not 0 <= number < size <= SIZE_MAX:
        return False
    last = size - 1
    digest = leaf
    for sibling in proof:
        if last == 0:
            return False  # longer than the tree is high
        if number & 1 or number == last:
            digest = node_hash(sibling, digest)
            while not number & 1 and number:  # on the right edge, levels without a sibling are passed over
                number, last = number >> 1, last >> 1
        else:
            digest = node_hash(digest, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and digest == root


def consistent(
    first: int, first_root: bytes, second: int, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Say whether a proof shows that the tree of the second size and root begins with that of the first."""
    if not 0 < first <= second <= SIZE_MAX:
        return False
    if first == second:
        return not proof and first_root == second_root
    hashes = list(proof)
    if first & (first - 1) == 0:
        hashes.insert(0, first_root)  # a complete tree is itself the node to begin from
    if not hashes:
        return False
    number, last = first - 1, second - 1
    while number & 1:
        number, last = number >> 1, last >> 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if number & 1 or number == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not number & 1 and number:
                number, last = number >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


class GrowingTree:
    """A tree that leaves are appended to, as few hashes as its right edge has: those of its complete nodes."""

    def __init__(self) -> None:
        self.size = 0
        self._edge: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Take the next leaf's hash."""
        number = self.size
        while number & 1:
            leaf = node_hash(self._edge.pop(), leaf)
            number >>= 1
        self._edge.append(leaf)
        self.size += 1

    @property
    def root(self) -> bytes:
        """The root over all leaves so far."""
        return joined(self._edge)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root over leaves, given their hashes."""
    tree = GrowingTree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root


def _left_of(count: int) -> int:
    """Return how many of so many leaves (two at least) are in the left half: the largest power of two below."""
    return 1 << ((count - 1).bit_length() - 1)
