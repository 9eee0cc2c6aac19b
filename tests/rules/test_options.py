"""Options of every game, at the edges of their ranges (G11)."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.inspect import IntType, LiteralType, UnionType

from services.engine.rules.catalogue import read_options, restore_options
from services.engine.rules.kernel import Refusal
from tests.rules.laws import over_every_rules
from tests.support.options import as_given, fields_of, fitting, given_options, section_of

SEATS_WITHOUT_OPTIONS = 16
"""So many seats a table can have in any game whatever its options; beyond, some may be needed."""


def kinds(field):
    return field.type.types if isinstance(field.type, UnionType) else (field.type,)


@over_every_rules
def test_outside_its_range_an_option_is_refused_by_name(rules):
    tried = 0
    for field in fields_of(rules):
        for kind in kinds(field):
            beyond = []
            if isinstance(kind, IntType):
                beyond = [
                    *([kind.ge - 1] if kind.ge is not None else []),
                    *([kind.le + 1] if kind.le is not None else []),
                ]
            elif isinstance(kind, LiteralType):
                beyond = ["no-such-value"]
            for value in [*beyond, [], {}, 1.5]:
                tried += 1
                refusal = read_options(rules, {field.name: value}, rules.seats_min)
                assert isinstance(refusal, Refusal), (field.name, value)
                assert (refusal.code, refusal.clause) == ("options-invalid", rules.options_clause)
                assert refusal.params["option"] == field.name
                assert refusal.params["reason"]
    assert tried


@over_every_rules
def test_without_options_every_default_is_taken(rules):
    assert read_options(rules, {}, rules.seats_min) == rules.options()
    nothing = dict.fromkeys(
        field.name for field in fields_of(rules)
        if not any(isinstance(kind, msgspec.inspect.NoneType) for kind in kinds(field))
    )  # fmt: skip
    assert read_options(rules, nothing, rules.seats_min) == rules.options(), "null is not given (G11)"


@over_every_rules
def test_an_unknown_option_is_refused(rules):
    refusal = read_options(rules, {"no_such_option": 1}, rules.seats_min)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.clause) == ("options-invalid", rules.options_clause)


@over_every_rules
def test_the_number_of_seats_has_its_limits(rules):
    for seats in (rules.seats_min - 1, rules.seats_max + 1, 0, -1):
        refusal = read_options(rules, {}, seats)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "seats-invalid"
    for seats in (rules.seats_min, min(rules.seats_max, SEATS_WITHOUT_OPTIONS)):
        assert not isinstance(read_options(rules, {}, seats), Refusal)
    largest = read_options(rules, {}, rules.seats_max)
    assert not isinstance(largest, Refusal) or largest.code == "options-invalid", (
        "more packs, for instance (CB-1.3)"
    )


@over_every_rules
def test_completed_options_are_held_to_the_same_number_of_seats(rules):
    """A table whose seats alone change, and a match that starts, bring the options as they were completed."""
    whole = as_given(rules.options())
    assert not isinstance(restore_options(rules, whole, rules.seats_min), Refusal)
    for seats in (rules.seats_min - 1, rules.seats_max + 1):
        refusal = restore_options(rules, whole, seats)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "seats-invalid"


@over_every_rules
def test_whatever_is_given_is_taken_or_refused_with_the_clause(rules):
    @settings(max_examples=300, deadline=None, database=None)
    @given(given_options(rules), st.integers(rules.seats_min, min(rules.seats_max, SEATS_WITHOUT_OPTIONS)))
    def holds(given, seats):
        answer = read_options(rules, given, seats)
        if isinstance(answer, Refusal):
            assert answer.code == "options-invalid"
            assert section_of(answer.clause) == section_of(rules.options_clause)
            answer = fitting(rules, given, seats)
        # What is stored in match-started reads back as the same options.
        assert msgspec.json.decode(msgspec.json.encode(answer), type=rules.options) == answer

    holds()


@over_every_rules
def test_every_option_has_a_place_in_the_json_schema(rules):
    schema = msgspec.json.schema(rules.options)
    (definition,) = schema["$defs"].values()
    assert set(definition["properties"]) == {field.name for field in fields_of(rules)}
    assert json.loads(json.dumps(as_given(rules.options()))) == {
        name: about["default"] for name, about in definition["properties"].items()
    }


def test_a_seat_that_first_names_has_to_be_at_the_table():
    from services.engine.rules.games.dice_race import DICE_RACE

    for seats in range(2, 17):
        assert not isinstance(read_options(DICE_RACE, {"first": seats - 1}, seats), Refusal)
        refusal = read_options(DICE_RACE, {"first": seats}, seats)
        assert isinstance(refusal, Refusal)
        assert refusal.params["option"] == "first"


@pytest.mark.parametrize("value", [True, False])
def test_true_is_no_number_and_one_is_not_true(value):
    from services.engine.rules.games.dice_race import DICE_RACE

    assert isinstance(read_options(DICE_RACE, {"first": value}, 3), Refusal)
    assert isinstance(read_options(DICE_RACE, {"pontoon": int(value)}, 3), Refusal)
