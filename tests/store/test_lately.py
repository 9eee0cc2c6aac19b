"""What was used lately stays; what nobody asks for goes, by number and by time."""

import pytest

from services.runtime.lately import IDLE_SECONDS, Lately


@pytest.fixture
def clock():
    return [1_000.0]


def kept(clock, most=3, busy=()):
    return Lately[str](most, lambda value: value in busy, lambda: clock[0])


def names(lately):
    return [name for name in "abcdef" if name in lately._kept]


def test_of_too_many_those_go_that_were_silent_for_longest(clock):
    lately = kept(clock)
    for name in "abc":
        lately.keep(name, name)
    assert lately.get("a") == "a"
    lately.keep("d", "d")
    assert names(lately) == ["a", "c", "d"]
    assert lately.get("b") is None
    assert len(lately) == 3


def test_what_nobody_asks_for_goes_after_a_while(clock):
    lately = kept(clock)
    lately.keep("a", "a")
    lately.keep("b", "b")
    clock[0] += IDLE_SECONDS - 1
    lately.get("b")
    clock[0] += 2
    lately.keep("c", "c")
    assert names(lately) == ["b", "c"]


def test_what_is_in_use_is_not_forgotten(clock):
    busy = {"a"}
    lately = kept(clock, 2, busy)
    for name in "abcd":
        lately.keep(name, name)
    assert names(lately) == ["a", "d"]
    clock[0] += 2 * IDLE_SECONDS
    lately.keep("e", "e")
    assert names(lately) == ["a", "e"]
    busy.clear()
    lately.keep("f", "f")
    assert names(lately) == ["e", "f"]


def test_a_value_takes_the_place_of_the_one_before(clock):
    lately = kept(clock)
    lately.keep("a", "old")
    lately.keep("a", "new")
    assert (lately.get("a"), len(lately)) == ("new", 1)
    lately.forget("a")
    lately.forget("never here")
    assert (lately.get("a"), len(lately)) == (None, 0)
