"""What is left on the terminal when a match is over: the whole table, and who came where."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from services.cli.pictures import draw
from services.cli.playing.scene import log_of
from services.cli.playing.table import Table
from services.engine.rules import match as matches
from services.engine.rules.kernel import AUDITOR, SPECTATOR

LAST_SENTENCES: Final = 8


def print_end(table: Table, people: frozenset[int], seed: str, console: Console) -> None:
    """Print the end; everything lies open now, unless the match was stopped: then it may be played again."""
    match = table.match
    if match.places is None:
        console.print("Ended before the match was over; it does not count.")
    else:
        facts = [matches.redact(table.rules, fact, SPECTATOR) for fact in table.facts]
        console.print()
        for happening in log_of(facts, 0)[-LAST_SENTENCES:]:
            console.print(Text(happening.text, "bold" if happening.heading else ""))
        console.print(draw(table.rules.name, matches.observe(match, AUDITOR), facts))
        console.print(Text(_own_place(match.places, people), "bold"))
    console.print(Text(f"The same dice and cards again: --seed {seed}", "dim"), soft_wrap=True)


def _own_place(places: tuple[int, ...], people: frozenset[int]) -> str:
    """Tell a person who played alone how that went; several read it above."""
    return " ".join(f"You have place {places[seat]} of {len(places)}." for seat in people if len(people) == 1)
