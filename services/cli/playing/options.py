"""Options of a game as they are given on the command line, and as they are told to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect
from msgspec.structs import asdict

from services.cli.advice import Advice
from services.engine.rules.kernel import AnyRules


def read_given(pairs: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is JSON where it can be, else a word.

    Raises:
        Advice: one of them is no pair.
    """
    given: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise Advice(f"An option is given as name=value, and {pair!r} is not.")
        given[name.replace("-", "_")] = _value(value)
    return given


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


class Offer(NamedTuple):
    """An option of a game: its name, the value that it has by itself, and those that it can have."""

    name: str
    default: str
    values: str


def offers(rules: AnyRules) -> Iterator[Offer]:
    """Yield the options of a game."""
    described = inspect.type_info(rules.options)
    if isinstance(described, inspect.StructType):
        defaults = asdict(rules.options())
        for field in described.fields:
            yield Offer(field.name, _json(defaults[field.name]), values_in_words(field.type))


def values_in_words(kind: inspect.Type) -> str:
    """Return the values of a type: ``9, 12, 15``, ``1 to 20``."""
    match kind:
        case inspect.UnionType():
            return ", ".join(values_in_words(part) for part in kind.types)
        case inspect.LiteralType():
            return ", ".join(map(str, kind.values))
        case inspect.BoolType():
            return "true, false"
        case inspect.IntType(ge=int(least), le=int(most)):
            return f"{least} to {most}"
        case inspect.IntType():
            return "a number"
        case inspect.NoneType():
            return "null"
        case _:
            return "a word"


def _json(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
