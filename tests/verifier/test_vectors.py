"""``macao-fair/1`` in JavaScript gives the published numbers, and the tree of the log gives those of RFC 6962."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from services.engine.rules.chance import Operation
from tests.support.javascript import JavaScript

VECTORS = json.loads((Path(__file__).parents[1] / "rules/fairness-vectors.json").read_text())
KEY = VECTORS["RK"]["1"]


def test_commitment_and_keys(javascript: JavaScript):
    match, rules, seeds = VECTORS["match"], VECTORS["game_at_version"], VECTORS["seeds"]
    assert javascript.call("commitmentOf", match, VECTORS["S"]) == VECTORS["commitment"]
    key = javascript.call("matchKey", match, rules, seeds, VECTORS["S"])
    assert key == VECTORS["MK"]
    for number, expected in VECTORS["RK"].items():
        assert javascript.call("roundKey", key, int(number)) == expected
        assert javascript.call("roundCommitment", expected) == VECTORS["round_commitment"][number]


@pytest.mark.parametrize(
    ("op", "name", "given", "expected"),
    [
        (0, "shuffle", list(range(54)), "op_0_shuffle_54"),
        (1, "shuffle", list(range(104)), "op_1_shuffle_104"),
        (2, "dice", 24, "op_2_dice_24"),
    ],
)
def test_operations(javascript: JavaScript, op, name, given, expected):
    assert javascript.operation(KEY, op, name, given) == [VECTORS["round_1"][expected]]


def test_numbers_below_five(javascript: JavaScript):
    expected = VECTORS["round_1"]["op_3_uniform_5"]
    assert javascript.operation(KEY, 3, "uniform", 5, times=len(expected)) == expected


def test_a_lot(javascript: JavaScript):
    among = [4, 6, 9]
    drawn = VECTORS["round_0"]["op_0_lot_of_3"]
    assert javascript.operation(VECTORS["RK"]["0"], 0, "lot", among) == [among[drawn]]


@pytest.mark.parametrize("n", [1, 2, 6, 7, 2**31 - 1, 2**31 + 1, 3 * 2**30, 2**32 - 1, 2**32])
def test_numbers_that_are_often_drawn_again(javascript: JavaScript, n):
    """Just above half of the range every second number is refused."""
    operation = Operation(bytes.fromhex(KEY), 11)
    assert javascript.operation(KEY, 11, "uniform", n, times=40) == [operation.uniform(n) for _ in range(40)]


class TestTree:
    """The tree as RFC 6962 writes it, root and proofs by recursion, and what the verifier says of them."""

    SIZES = range(1, 18)

    def test_every_inclusion_and_no_other(self, javascript: JavaScript):
        for size in self.SIZES:
            leaves = leaves_of(size)
            for at in range(size):
                proof, leaf = path(at, leaves), node_of(leaves[at : at + 1]).hex()
                right = [at + 1, size, leaf, proof, node_of(leaves).hex()]
                assert javascript.call("inclusionHolds", *right)
                for wrong in spoilt(proof):
                    assert not javascript.call("inclusionHolds", at + 1, size, leaf, wrong, right[4])
                if size > 1:
                    assert not javascript.call("inclusionHolds", (at + 1) % size + 1, *right[1:])
                assert not javascript.call("inclusionHolds", size + 1, *right[1:])
                assert not javascript.call("inclusionHolds", 0, *right[1:])

    def test_every_consistency_and_no_other(self, javascript: JavaScript):
        for second in self.SIZES:
            root = node_of(leaves_of(second)).hex()
            for first in range(1, second + 1):
                start = node_of(leaves_of(first)).hex()
                proof = [] if first == second else consistency(first, leaves_of(second))
                assert javascript.call("consistencyHolds", first, start, second, root, proof)
                for wrong in spoilt(proof):
                    assert not javascript.call("consistencyHolds", first, start, second, root, wrong)
                other = node_of([b"other", *leaves_of(first)[1:]]).hex()
                assert not javascript.call("consistencyHolds", first, other, second, root, proof)

    def test_positions_beyond_32_bits(self, javascript: JavaScript):
        """A leaf with nothing but full subtrees to its left, high up."""
        at, parts = 2**52, [f"{number:064x}" for number in range(3)]
        leaf = f"{99:064x}"
        root = sha256(b"\1" + bytes.fromhex(parts[0]) + bytes.fromhex(leaf)).hexdigest()
        assert javascript.call("inclusionHolds", at + 1, at + 1, leaf, parts[:1], root)
        assert not javascript.call("inclusionHolds", at + 1, at + 1, leaf, parts, root)


def leaves_of(size: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(size)]


def node_of(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    half = middle(len(leaves))
    return sha256(b"\1" + node_of(leaves[:half]) + node_of(leaves[half:])).digest()


def middle(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def path(at: int, leaves: list[bytes]) -> list[str]:
    if len(leaves) == 1:
        return []
    half = middle(len(leaves))
    if at < half:
        return [*path(at, leaves[:half]), node_of(leaves[half:]).hex()]
    return [*path(at - half, leaves[half:]), node_of(leaves[:half]).hex()]


def consistency(first: int, leaves: list[bytes], *, whole: bool = True) -> list[str]:
    if first == len(leaves):
        return [] if whole else [node_of(leaves).hex()]
    half = middle(len(leaves))
    if first <= half:
        return [*consistency(first, leaves[:half], whole=whole), node_of(leaves[half:]).hex()]
    return [*consistency(first - half, leaves[half:], whole=False), node_of(leaves[:half]).hex()]


def spoilt(proof: list[str]) -> list[list[str]]:
    """The proof with a hash too many, too few, or changed."""
    return [[*proof, "0" * 64], *([*proof[:at], *proof[at + 1 :]] for at in range(len(proof)))] + [
        [*proof[:at], "0" * 64, *proof[at + 1 :]] for at in range(len(proof))
    ]
