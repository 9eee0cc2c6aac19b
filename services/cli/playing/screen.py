"""Where a match is shown and lines are typed: a terminal that is drawn anew each time, or plain lines in and out."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from services.cli.playing.scene import Happening, Scene
from services.cli.playing.vocabulary import QUIT

PROMPT: Final = "> "
BAR: Final = "│ "
"""Stands before the log where it is not in a box of its own."""
LOG_ROWS_MIN: Final = 3
WIDE_FROM_CELLS: Final = 108
PICTURE_CELLS: Final = 70


class Quit(Exception):  # noqa: N818 - it is named for what it is
    """The person at the keyboard wants to leave, or the input is at its end."""


class Screen(Protocol):
    """Shows and asks."""

    @property
    def cells(self) -> int:
        """How wide a hand of cards may be drawn."""
        ...

    def ask(self, scene: Scene, complaint: str = "") -> str:
        """Show a scene and return the line that is typed below it.

        Args:
            scene: what to show.
            complaint: what was wrong with the line before, at the same scene.

        Raises:
            Quit: instead of a line.
        """
        ...

    def pause(self, text: str) -> None:
        """Show one sentence and nothing else, until Enter is pressed.

        Raises:
            Quit: instead.
        """
        ...


@contextmanager
def screen_on(console: Console) -> Generator[Screen, None, None]:
    """Give the screen that fits: a terminal's other page, which leaves no cards behind, or lines."""
    if sys.stdin.isatty() and console.is_terminal:
        with console.screen(hide_cursor=False):
            yield TerminalScreen(console)
    else:
        yield LineScreen(console)


class LineScreen:
    """Prints one scene below the other, for pipes; of the log what is new."""

    def __init__(self, console: Console) -> None:
        """Print to a console."""
        self._console = console

    @property
    def cells(self) -> int:
        """How wide a hand of cards may be drawn."""
        return self._console.width

    def ask(self, scene: Scene, complaint: str = "") -> str:
        """Print, and read a line."""
        if complaint:
            self._console.print(Text(complaint))
        else:
            news = [Text(f"· {each.text}") for each in scene.log if each.new]
            self._console.print(Text(f"\n── {scene.heading}"), *news, scene.table, *scene.below, sep="\n")
        return self._line()

    def pause(self, text: str) -> None:
        """Print, and read a line."""
        self._console.print(Text(f"\n── {text}"))
        self._line()

    def _line(self) -> str:
        self._console.print(PROMPT, end="")
        line = sys.stdin.readline()
        self._console.print(Text(line.rstrip("\n")))  # what comes through a pipe does not show by itself
        return _typed(line)


class TerminalScreen:
    """Fills the terminal: the log beside the table where there is room, else below it."""

    def __init__(self, console: Console) -> None:
        """Draw on a console."""
        self._console = console

    @property
    def cells(self) -> int:
        """How wide a hand of cards may be drawn."""
        return PICTURE_CELLS if self._wide else self._console.width

    @property
    def _wide(self) -> bool:
        return self._console.width >= WIDE_FROM_CELLS

    def ask(self, scene: Scene, complaint: str = "") -> str:
        """Draw, and read a line at the bottom."""
        self._console.clear()
        self._console.print(Text(scene.heading, style="dim"))
        said = [Text(complaint, style="yellow")] if complaint else []
        below = [*scene.below, *said]
        self._console.print(self._beside(scene, below) if self._wide else self._stacked(scene, below))
        return self._line()

    def pause(self, text: str) -> None:
        """Draw the sentence in the middle of nothing."""
        self._console.clear()
        self._console.print(Text("\n" * (self._console.height // 3)))
        self._console.print(Text(text, justify="center", style="bold"))
        self._line()

    def _line(self) -> str:
        try:
            return _typed(input(PROMPT) + "\n")
        except EOFError:
            return _typed("")

    def _beside(self, scene: Scene, below: Sequence[Text]) -> RenderableType:
        rows = self._console.height - 3
        cells = self._console.width - PICTURE_CELLS - 1
        log = self._last_lines(scene.log, cells - 4, rows - 2)
        grid = Grid.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=PICTURE_CELLS)
        grid.add_column(width=cells)
        grid.add_row(
            Group(scene.table, *below),
            Panel(log, box=box.ROUNDED, border_style="dim", height=rows, width=cells),
        )
        return grid

    def _stacked(self, scene: Scene, below: Sequence[Text]) -> RenderableType:
        taken = self._rows_of(scene.table) + sum(map(self._rows_of, below))
        rows = max(LOG_ROWS_MIN, self._console.height - taken - 3)
        log = self._last_lines(scene.log, self._console.width - len(BAR), rows)
        barred = Text("\n").join(Text.assemble((BAR, "dim"), line) for line in log.split("\n"))
        return Group(scene.table, barred, *below)

    def _rows_of(self, part: RenderableType) -> int:
        return len(self._console.render_lines(part, pad=False))

    def _last_lines(self, log: Sequence[Happening], cells: int, rows: int) -> Text:
        lines: list[Text] = []
        for happening in log:
            style = "bold" if happening.heading and happening.new else "" if happening.new else "dim"
            lines += Text(happening.text, style).wrap(self._console, cells)
        return Text("\n").join(lines[-rows:])


def _typed(line: str) -> str:
    """Return a line as it was typed; its absence is a wish to leave.

    Raises:
        Quit: the input is at its end, or says so.
    """
    if not line or line.strip().lower() in QUIT:
        raise Quit
    return line.strip()
