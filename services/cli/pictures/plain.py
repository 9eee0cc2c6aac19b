"""Any game in the terminal, from nothing but the names in its view."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.contracts.events.base import Fact


def draw(view: Struct, facts: Sequence[Fact]) -> RenderableType:
    """Return the view's fields line by line, and its players as a table."""
    del facts
    fields: dict[str, Any] = msgspec.to_builtins(view)
    players = fields.pop("players", ())
    lines = [Text(f"{_in_words(name)}: {_value(value)}") for name, value in fields.items()]
    return Group(*([_players(players)] if players else []), *lines)


def _players(players: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim")
    for name in players[0]:
        table.add_column(_in_words(name))
    for player in players:
        table.add_row(*(_value(value) for value in player.values()))
    return table


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _value(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return " ".join(_value(each) for each in value) or "-"
        case _:
            return str(value)
