"""Whatever the bytes are, an audit answers, and answers no."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from services.contracts.events.catalogue import UndecodableEventError
from services.engine.record import RecordError, line_of, read_record, read_sheet
from services.engine.rules.catalogue import CATALOGUE
from tests.audit.play import OTHER_KEY, play, rechained, record, sit_down
from tests.support.told import told

EVENTS = play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 1}), random.Random(5))
LINES = record(EVENTS)

patient = settings(deadline=None)
"""A busy machine makes a test slow, and that is no finding."""

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
DRAWS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["dice", "lot", "shuffle", "else"]),
        "round": st.integers(-3, 2**70),
        "op": st.integers(-3, 2**70),
        "count": st.integers(-3, 2**63),
        "among": st.lists(st.integers(-3, 5), max_size=3),
        "cards": st.lists(st.text(max_size=2), max_size=3),
        "result": st.integers(-3, 5)
        | st.lists(st.integers(-3, 7), max_size=3)
        | st.lists(st.text(max_size=2), max_size=3),
    }
)


@patient
@given(st.lists(st.binary(max_size=200), max_size=8))
@example([])
@example([b"["] * 3)
@example([b"[" * 200_000])
@example([b'{"line":"event","version":' + b"9" * 6000 + b"}"])
def test_random_lines(lines):
    assert not told(lines).sound


@patient
@given(st.lists(JSON, max_size=5))
def test_random_json(values):
    assert not told([msgspec.json.encode(value) if not _too_big(value) else b"0" for value in values]).sound


def _too_big(value: Any) -> bool:
    match value:
        case int():
            return not -(2**63) <= value < 2**64
        case list():
            return any(map(_too_big, value))
        case dict():
            return any(map(_too_big, value.values()))
    return False


@patient
@given(st.integers(0, len(LINES) - 1), st.data())
def test_a_random_value_in_any_field_of_any_line(at, data):
    said = msgspec.json.decode(LINES[at])
    field = data.draw(st.sampled_from(sorted(said)))
    value = data.draw(JSON)
    if not _too_big(value) and value != said[field]:
        said[field] = value
        assert not told([*LINES[:at], msgspec.json.encode(said), *LINES[at + 1 :]]).sound


@settings(patient, max_examples=300)
@given(st.integers(0, len(EVENTS) - 1), st.data())
def test_a_random_value_in_any_body_chained_and_signed(at, data):
    """The forger's hashes fit, so this goes on to chance and rules."""
    body = msgspec.json.decode(EVENTS[at].body)
    field = data.draw(st.sampled_from(sorted(body)))
    value = data.draw(DRAWS if field == "draw" else JSON)
    if (
        _too_big(value)
        or value == body[field]
        or field in {"type", "table", "rated", "visibility", "commitment_number"}
    ):
        return
    if at == 0 and field in {"match", "game", "rules_version", "seats", "turn_seconds"}:
        return  # the header comes from these; see the test below
    lie = replace(EVENTS[at], body=msgspec.json.encode(body | {field: value}))
    try:
        lines = record(rechained([*EVENTS[:at], lie, *EVENTS[at + 1 :]]), OTHER_KEY)
    except (ValueError, UndecodableEventError):
        return  # no record is written of such a first event
    assert not told(lines).sound


@patient
@given(st.sampled_from(["match", "game", "rules_version", "seats", "turn_seconds", "options"]), JSON)
def test_a_random_value_in_the_first_body_under_the_true_header(field, value):
    body = msgspec.json.decode(EVENTS[0].body)
    if not _too_big(value) and value != body[field]:
        lie = replace(EVENTS[0], body=msgspec.json.encode(body | {field: value}))
        forged = rechained([lie, *EVENTS[1:]])
        lines = [LINES[0], *(msgspec.json.encode(line_of(event)) for event in forged), LINES[-1]]
        assert not told(lines).sound


@patient
@given(st.permutations(range(len(LINES))), st.integers(0, len(LINES)))
def test_lines_in_any_order_and_number(order, kept):
    verdict = told([LINES[at] for at in order[:kept]])
    assert verdict.sound == (order[:kept] == list(range(len(LINES))))


def test_reading_names_the_first_line_that_cannot_be_read():
    for at in range(len(LINES)):
        with pytest.raises(RecordError, match=f"^line {at + 1}: ") as raised:
            read_record([*LINES[:at], b"garbage\n", *LINES[at + 1 :]])
        assert raised.value.line == at + 1


def test_another_spelling_of_the_same_line_is_not_taken():
    line = LINES[3]
    for spelled in (
        line.replace(b":", b": ", 1),
        b" " + line,
        line.replace(b'"line"', b'"li\\u006ee"'),
        line[:-1] + b"\r\n",
    ):
        assert read_sheet([*LINES[:3], spelled, *LINES[4:]]).entries[2].event is None


def test_two_events_never_share_a_preimage():
    """A line feed inside a word, or a cause spelled like none, would let parts of an event move into its neighbours."""
    said = msgspec.json.decode(LINES[3])
    for field, value in (
        ("actor", "a\nb"),
        ("command", ""),
        ("type", "ro lled"),
        ("cause", "-"),
        ("body", "{}\n{}"),
    ):
        line = msgspec.json.encode(said | {field: value})
        assert read_sheet([*LINES[:3], line, *LINES[4:]]).entries[2].event is None
