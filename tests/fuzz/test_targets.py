"""Bytes from strangers, of two kinds: anything at all, and what is sent in earnest with a few bytes changed.

``MACAO_FUZZ_INPUTS`` says how many of each kind a target gets; without it a hundred, always the same ones. Longer
still, and guided by what the code does with them: ``python -m tests.fuzz``.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import KINDS, TARGETS, good

INPUTS = int(os.environ.get("MACAO_FUZZ_INPUTS", "100"))
SNIPPETS = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"\\ud800",
    b"{",
    b"[" * 2000,
    b"-0",
    b"1e400",
    b"9" * 400,
    b"null",
    b"\n",
    b",",
]

calm = settings(
    max_examples=INPUTS,
    deadline=None,
    derandomize="MACAO_FUZZ_INPUTS" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
over_every_target = pytest.mark.parametrize("target", sorted(TARGETS))


def changed(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy for contents with one to four pieces cut out, put in, doubled or replaced."""
    piece = st.one_of(st.sampled_from(SNIPPETS), st.binary(max_size=6))
    change = st.tuples(st.integers(0, len(content)), st.sampled_from([0, 0, 1, 2, 40]), piece)

    def carry_out(changes: list[tuple[int, int, bytes]]) -> bytes:
        made = content
        for at, length, put in changes:
            made = made[:at] + put + made[at + length :]
        return made

    return st.lists(change, min_size=1, max_size=4).map(carry_out)


@over_every_target
def test_what_is_sent_in_earnest_is_taken(target):
    taken = list(good(target))
    assert taken
    for content in taken[:: max(1, len(taken) // 200)]:
        TARGETS[target](content)


@over_every_target
def test_anything_at_all(target):
    @calm
    @given(st.binary(max_size=400))
    def holds(content):
        TARGETS[target](content)

    holds()


@over_every_target
def test_a_few_bytes_changed(target):
    @calm
    @given(st.sampled_from(list(good(target))).flatmap(changed))
    def holds(content):
        TARGETS[target](content)

    holds()


NESTED = b'"options":' + b"[" * 5000
BEYOND = b'"unknown":[1e400,11111111111111111111],"options":'


@pytest.mark.parametrize("put", [NESTED, BEYOND], ids=["nested", "beyond"])
def test_what_was_found_once(put):
    """Nesting without end, and numbers out of range in a part that no event has."""
    for content in good("decoder"):
        TARGETS["decoder"](content.replace(b'"options":', put, 1))
    for content in good("verifiers"):
        spoilt = content.replace(b'\\"options\\":', put.replace(b'"', b'\\"'), 1)
        assert spoilt != content
        for target in ("record", "verifiers"):
            TARGETS[target](spoilt)


def test_a_target_can_fail(monkeypatch):
    monkeypatch.setattr("tests.fuzz.targets.encode", lambda fact: b"{}")
    content = next(content for content in good("decoder") if KINDS[content[0]] == "rolled")
    with pytest.raises(Exception, match="rolled"):
        TARGETS["decoder"](content)
