"""The table of the players that stands at the head of every picture: a row a seat, an arrow at who is on turn."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

CHIPS_DRAWN_MAX: Final = 20
TO_COME: Final = "·"
"""Stands where a number will, once the player has had the turn."""


class Row(NamedTuple):
    """One seat: what stands in the columns, whether it is on turn, and whether it is out."""

    cells: tuple[str | Text, ...]
    on_turn: bool
    out: bool


def seats_table(headings: Sequence[str], rows: Iterable[Row]) -> Table:
    """Return the table; a heading that begins with ``>`` stands over a column of numbers."""
    table = Table(box=box.ROUNDED, border_style="dim")
    for heading in ("", *headings):
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    for row in rows:
        style = "bold" if row.on_turn else "dim" if row.out else ""
        table.add_row("▶" if row.on_turn else "", *row.cells, style=style)
    return table


def chips_drawn(chips: int) -> str:
    """Return chips as a row of them, cut off where there are many."""
    return "●" * chips if chips <= CHIPS_DRAWN_MAX else "●" * CHIPS_DRAWN_MAX + "…"


def number(value: int | None) -> str:
    """Return a number, and nothing for 0 or none."""
    return str(value) if value else ""
