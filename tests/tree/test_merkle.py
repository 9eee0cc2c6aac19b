"""The tree of RFC 6962: roots, proofs that hold, and proofs that must not."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.contracts.merkle import (
    EMPTY_ROOT,
    PROOF_MAX,
    SIZE_MAX,
    GrowingTree,
    consistency_ranges,
    consistent,
    included,
    inclusion_ranges,
    joined,
    leaf_hash,
    root_of,
    subtrees,
)
from services.runtime.tree.tiles import WIDTH, Edge, elements, place_of

LEAVES = [hashlib.sha256(b"%d" % number).digest() for number in range(70)]
SIZES = range(1, len(LEAVES) + 1)


def by_definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, word for word, over hashes of leaves."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + by_definition(leaves[:k]) + by_definition(leaves[k:])).digest()


def test_the_published_vectors():
    """Those of the certificate transparency log: eight entries, and the root over them all."""
    entries = [
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
    ]  # fmt: skip
    leaves = [hashlib.sha256(b"\x00" + bytes.fromhex(entry)).digest() for entry in entries]
    assert root_of(leaves[:0]) == EMPTY_ROOT
    assert root_of(leaves[:1]).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert root_of(leaves).hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


def test_a_leaf_is_what_the_documentation_says():
    data = b"macao-leaf/1\n7\nm_x\n3\n" + b"ab" * 32
    assert leaf_hash(7, "m_x", 3, bytes.fromhex("ab" * 32)) == hashlib.sha256(b"\0" + data).digest()


@pytest.mark.parametrize("size", SIZES)
def test_roots_and_every_inclusion_proof(size):
    leaves = LEAVES[:size]
    root = by_definition(leaves)
    assert root_of(leaves) == root
    for number in range(size):
        proof = [by_definition(leaves[begin:end]) for begin, end in inclusion_ranges(number, size)]
        assert included(leaves[number], number, size, proof, root)
        assert not included(leaves[number - 1] if number else bytes(32), number, size, proof, root)
        assert not included(leaves[number], number, size, [*proof, bytes(32)], root)
        for other in range(-1, size + 2):
            assert other == number or not included(leaves[number], other, size, proof, root)
        for at in range(len(proof)):
            assert not included(leaves[number], number, size, [*proof[:at], *proof[at + 1 :]], root)
            assert not included(
                leaves[number], number, size, [*proof[:at], bytes(32), *proof[at + 1 :]], root
            )


@pytest.mark.parametrize("second", SIZES)
def test_every_consistency_proof(second):
    new = by_definition(LEAVES[:second])
    for first in range(1, second + 1):
        old = by_definition(LEAVES[:first])
        proof = [by_definition(LEAVES[begin:end]) for begin, end in consistency_ranges(first, second)]
        assert consistent(first, old, second, new, proof)
        assert not consistent(first, bytes(32), second, new, proof)
        assert not consistent(first, old, second, bytes(32), proof)
        assert not consistent(first, old, second, new, [*proof, bytes(32)])
        for at in range(len(proof)):
            assert not consistent(first, old, second, new, [*proof[:at], *proof[at + 1 :]])
            assert not consistent(first, old, second, new, [*proof[:at], bytes(32), *proof[at + 1 :]])
        for other in range(1, second + 1):
            assert other == first or not consistent(other, by_definition(LEAVES[:other]), second, new, proof)


def test_questions_without_an_answer():
    for number, size in ((-1, 3), (3, 3), (0, 0)):
        with pytest.raises(ValueError, match="no leaf"):
            inclusion_ranges(number, size)
    for first, second in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match="does not grow"):
            consistency_ranges(first, second)
    assert not consistent(0, EMPTY_ROOT, 1, LEAVES[0], [])
    assert not included(LEAVES[0], 0, SIZE_MAX + 1, [], LEAVES[0])


@given(st.integers(1, SIZE_MAX), st.data())
def test_proofs_of_the_largest_trees_are_short(size, data):
    number = data.draw(st.integers(0, size - 1))
    assert len(inclusion_ranges(number, size)) <= PROOF_MAX - 1
    assert len(consistency_ranges(number + 1, size)) <= PROOF_MAX
    for ranges in (inclusion_ranges(number, size), consistency_ranges(number + 1, size)):
        for begin, end in ranges:
            parts = subtrees((begin, end))
            edges = [(part.number << part.height, (part.number + 1) << part.height) for part in parts]
            assert (edges[0][0], edges[-1][1]) == (begin, end)
            assert all(left[1] == right[0] for left, right in pairwise(edges))


def test_the_edge_in_tiles_is_the_tree():
    """Past the first tile of the third level, with everything thrown away but what the tiles hold."""
    edge, tree, tiles = Edge(), GrowingTree(), {}
    for number in range(WIDTH * WIDTH + WIDTH + 3):
        leaf = hashlib.sha256(b"%d" % number).digest()
        tree.append(leaf)
        tiles |= {(tile.level, tile.number): tile for tile in edge.append(leaf)}
        if number % 1777 == 0 or number > WIDTH * WIDTH:
            assert edge.root == tree.root
            assert edge.size == tree.size == number + 1
    assert sorted(tiles) == [*((0, number) for number in range(WIDTH + 1)), (1, 0)]
    for begin, end in [(0, WIDTH * WIDTH), (0, WIDTH), (WIDTH * 3, WIDTH * 4)]:
        (node,) = subtrees((begin, end))
        place = place_of(node)
        if place.level == 2:
            assert tiles[1, 0].root == joined([root_of(elements(tiles[1, 0].hashes))])
        else:
            assert place.width == 1
            assert elements(tiles[1, 0].hashes, place.offset, 1) == [tiles[0, begin // WIDTH].root]
