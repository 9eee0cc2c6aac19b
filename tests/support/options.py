"""Options of any game, made from the types and ranges of its options struct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.inspect import (
    BoolType,
    Field,
    IntType,
    LiteralType,
    NoneType,
    StructType,
    Type,
    UnionType,
    type_info,
)

from services.engine.rules.catalogue import read_options
from services.engine.rules.kernel import AnyRules, Refusal

SMALL = 7
"""How far above its minimum a number goes in a match that is to be played; larger ones only make it longer."""


def fields_of(rules: AnyRules) -> tuple[Field, ...]:
    """Return the fields of a game's options."""
    info = type_info(rules.options)
    assert isinstance(info, StructType)
    return info.fields


def values(kind: Type) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of an option, numbers from the lower end of their range."""
    match kind:
        case BoolType():
            return st.booleans()
        case NoneType():
            return st.none()
        case LiteralType():
            return st.sampled_from(kind.values)
        case IntType():
            low = kind.ge if kind.ge is not None else 0
            high = kind.le if kind.le is not None else low + SMALL
            return st.integers(low, min(high, low + SMALL))
        case UnionType():
            return st.one_of(*map(values, kind.types))
        case _:
            raise NotImplementedError(f"no values for options of type {kind}")


def given_options(rules: AnyRules) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for what people give for a table: any of the options, whether they go together or not."""
    return st.fixed_dictionaries({}, optional={field.name: values(field.type) for field in fields_of(rules)})


def section_of(clause: str) -> str:
    """Return the section that a clause stands in: ``DB-1`` for ``DB-1.4``. That of the options settles all of them."""
    return clause.partition(".")[0]


def fitting(rules: AnyRules, given: Mapping[str, Any], seats: int) -> Struct:
    """Leave out, one by one, the options that the rules refuse; every refusal has to say which one it means."""
    left = dict(given)
    while True:
        options = read_options(rules, left, seats)
        if not isinstance(options, Refusal):
            return options
        assert options.code == "options-invalid", options
        assert section_of(options.clause) == section_of(rules.options_clause), options
        named = str(options.params["option"])
        assert named in {field.name for field in fields_of(rules)}, options
        # A usual value may clash with a given one; then it is the given one that has to go.
        assert left, options
        left.pop(named if named in left else next(iter(left)))


def tables(rules: AnyRules, seats_max: int = 6) -> st.SearchStrategy[tuple[Struct, int]]:
    """Return a strategy for tables that open: options and a number of seats."""
    seats = st.integers(rules.seats_min, min(rules.seats_max, seats_max))
    return st.builds(
        lambda given, number: (fitting(rules, given, number), number), given_options(rules), seats
    )


def as_given(options: Struct) -> dict[str, Any]:
    """Return options as JSON would give them."""
    given: dict[str, Any] = msgspec.to_builtins(options)
    return given
