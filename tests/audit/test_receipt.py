"""The receipt of a record: what it proves, and everything that can be wrong with it."""

import random

import pytest
from msgspec.structs import replace

from services.contracts.checkpoint import Receipt
from services.engine.audit import Verdict, audit_lines, describe
from services.engine.rules.catalogue import CATALOGUE
from tests.audit.logs import checkpoint_over, leaves_of, receipt_of
from tests.audit.play import KEY_ID, OTHER_KEY, PUBLIC_KEYS, play, record, sit_down

EVENTS = play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}), random.Random(8))
BEFORE, AFTER = 9, 30
LEAVES = leaves_of(EVENTS, BEFORE, AFTER)
POSITION = BEFORE + len(EVENTS)
RECEIPT = receipt_of(LEAVES, POSITION)


def verdict_of(receipt: Receipt | None, *, known: bool = True) -> Verdict:
    lines = record(EVENTS, receipt=receipt)
    return audit_lines(lines, CATALOGUE, PUBLIC_KEYS if known else None)


def assert_refused(receipt: Receipt, says: str, *, known: bool = True) -> None:
    verdict = verdict_of(receipt, known=known)
    assert not verdict.sound
    assert [finding.check for finding in verdict.findings] == ["receipt"]
    assert says in verdict.findings[0].text
    assert verdict.findings[0].line == len(EVENTS) + 2
    assert verdict.first_bad_version is None
    assert verdict.receipt_size is None
    assert "goes wrong" not in describe(verdict)


def test_a_right_receipt_is_told_of_and_a_missing_one_is_no_fault():
    with_it, without = verdict_of(RECEIPT), verdict_of(None)
    assert with_it.sound
    assert with_it.receipt_size == len(LEAVES)
    assert f"among the first {len(LEAVES)} events of the service" in describe(with_it)
    assert without.sound
    assert without.receipt_size is None
    assert "without a receipt the record does not say" in describe(without)


@pytest.mark.parametrize("size", [POSITION, POSITION + 1, len(LEAVES)])
def test_any_checkpoint_behind_the_match_will_do(size):
    assert verdict_of(receipt_of(LEAVES[:size], POSITION)).receipt_size == size


def test_another_place_is_refused():
    for position in (1, POSITION - 1, POSITION + 1):
        assert_refused(replace(RECEIPT, position=position), "does not prove")
        assert_refused(receipt_of(LEAVES, position), "does not prove")


def test_another_match_is_refused():
    others = play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}), random.Random(9))
    leaves = leaves_of(others, BEFORE, AFTER)
    assert_refused(receipt_of(leaves, BEFORE + len(others)), "does not prove")


def test_a_checkpoint_that_says_something_else_is_refused():
    checkpoint = RECEIPT.checkpoint
    assert_refused(replace(RECEIPT, checkpoint=replace(checkpoint, root="0" * 64)), "does not prove")
    for changes in ({"size": checkpoint.size + 1}, {"at_ms": checkpoint.at_ms + 1}, {"log": "other"}):
        changed = replace(RECEIPT, checkpoint=replace(checkpoint, **changes))
        assert_refused(changed, "did not sign this checkpoint")


def test_a_checkpoint_of_somebody_else_is_refused_where_the_keys_are_known():
    forged = checkpoint_over(LEAVES, key=OTHER_KEY)
    assert_refused(replace(RECEIPT, checkpoint=forged), "is another key under that id")
    assert_refused(
        replace(RECEIPT, checkpoint=checkpoint_over(LEAVES, key=OTHER_KEY, key_id="k_2")),
        "is not among the keys",
    )
    assert verdict_of(replace(RECEIPT, checkpoint=forged), known=False).sound
    assert_refused(
        replace(RECEIPT, checkpoint=replace(forged, public_key=RECEIPT.checkpoint.public_key)),
        f"the key {KEY_ID} did not sign", known=False,
    )  # fmt: skip


def test_every_changed_byte_of_the_closing_line_is_found():
    lines = record(EVENTS, receipt=RECEIPT)
    for place in range(len(lines[-1]) - 1):
        changed = bytearray(lines[-1])
        changed[place] ^= 1
        assert not audit_lines([*lines[:-1], bytes(changed)], CATALOGUE).sound, lines[-1][
            place - 20 : place + 1
        ]
