"""A match played back in the terminal: step by step under the keys, or printed."""

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, cast

from rich.console import Console, Group, RenderableType
from rich.text import Text

from services.cli.pictures import draw
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import MatchFact
from services.engine.replay import Replay
from services.engine.rules.kernel import AUDITOR, SPECTATOR, Viewer
from services.engine.words import move_in_words, seat_name, sentence

HELP: Final = """\
n next   p back   m next move   b move before   a start   z end
g go to a version   s other eyes   q quit"""

RIGHT, LEFT, UP, DOWN, ESCAPE, END_OF_INPUT = "\x1b[C", "\x1b[D", "\x1b[A", "\x1b[B", "\x1b", ""
NEXT: Final = {"n", " ", "\r", "\n", RIGHT}
BACK: Final = {"p", LEFT}
MOVE: Final = {"m", DOWN}
MOVE_BACK: Final = {"b", UP}
START: Final = {"a"}
END: Final = {"z"}
GO: Final = {"g"}
EYES: Final = {"s"}
QUIT: Final = {"q", ESCAPE, "\x03", "\x04", END_OF_INPUT}
ERASE: Final = {"\x7f", "\b"}

DIGITS_MAX: Final = 9
ESCAPE_SECONDS: Final = 0.05
"""How long the rest of an arrow key's code may take. A bare escape is followed by nothing."""


class Playback:
    """Shows the steps of a replay.

    Args:
        replay: the match.
        viewer: through whose eyes.
        console: where to.
    """

    def __init__(self, replay: Replay, viewer: Viewer, console: Console) -> None:
        self._replay = replay
        self._console = console
        self._viewer: Viewer = viewer
        self._facts: list[Fact] = []
        self._look_through(viewer)

    def print_all(self) -> None:
        """Print every step in words, then the last position and the standings."""
        width = len(str(self._replay.last))
        for version in range(1, self._replay.last + 1):
            self._console.print(Text(f"{version:>{width}}  {self._words(version)}"))
        self._console.print()
        self._console.print(self._table(self._replay.last))
        self.print_standings()

    def print_at(self, version: int) -> None:
        """Print one position.

        Raises:
            LookupError: there is no such version.
        """
        self._replay.at(version)
        self._console.print(self._scene(version))

    def print_standings(self) -> None:
        """Print who came where."""
        standings = self._replay.standings()
        if not standings:
            self._console.print("This match does not count: there are no standings.")
        for standing in standings:
            self._console.print(Text(f"{standing.place}. {seat_name(standing.seat)}  {standing.player}"))

    def step_through(self) -> None:
        """Show one position after another, as the keys ask for; print the standings when it is over."""
        version = 1
        with self._console.screen() as screen, _single_keys():
            while True:
                screen.update(Group(Text(f"{HELP}\n", style="dim"), self._scene(version)))
                key = _key()
                if key in QUIT:
                    break
                if key in GO:
                    version = self._ask_version(version, lambda text: screen.update(Text(text)))
                elif key in EYES:
                    self._look_through(self._other_eyes())
                else:
                    version = self._step(version, key)
        self.print_standings()

    def _step(self, version: int, key: str) -> int:
        """Return where a key leads; a key that means nothing leads nowhere."""
        replay = self._replay
        steps: tuple[tuple[set[str], Callable[[int], int]], ...] = (
            (NEXT, replay.forward),
            (BACK, replay.back),
            (MOVE, replay.move_after),
            (MOVE_BACK, replay.move_before),
            (START, lambda _: 1),
            (END, lambda _: replay.last),
        )
        return next((lead(version) for keys, lead in steps if key in keys), version)

    def _look_through(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._facts = [self._replay.fact(version, viewer) for version in range(1, self._replay.last + 1)]

    def _other_eyes(self) -> Viewer:
        """Return the next viewer in turn: everybody, then each seat, then somebody who only watched."""
        eyes: list[Viewer] = [AUDITOR, *range(len(self._replay.started.seats)), SPECTATOR]
        return eyes[(eyes.index(self._viewer) + 1) % len(eyes)]

    def _ask_version(self, version: int, show: Callable[[str], None]) -> int:
        digits = ""
        while True:
            show(f"Go to version (1 to {self._replay.last}): {digits}")
            key = _key()
            if key.isdigit():
                digits = (digits + key)[:DIGITS_MAX]
            elif key in ERASE:
                digits = digits[:-1]
            elif key in {"\r", "\n"} and digits:
                return min(max(int(digits), 1), self._replay.last)
            else:
                return version

    def _scene(self, version: int) -> RenderableType:
        started = self._replay.started
        place = f"{started.game}@{started.rules_version}  {started.match}  version {version} of {self._replay.last}"
        return Group(
            Text(f"{place}  {self._eyes()}", style="dim"),
            Text(self._words(version), style="bold"),
            self._table(version),
            Text(self._could_be_played(version)),
            *(
                []
                if version == self._replay.last
                else [Text(f"Then: {self._words(version + 1)}", style="dim")]
            ),
        )

    def _eyes(self) -> str:
        if self._viewer == AUDITOR:
            return "all cards open"
        return "as watched" if self._viewer == SPECTATOR else f"as {seat_name(self._viewer)} saw it"

    def _table(self, version: int) -> RenderableType:
        view = self._replay.view(version, self._viewer)
        return draw(self._replay.started.game, view, self._facts[:version])

    def _words(self, version: int) -> str:
        return sentence(cast("MatchFact", self._facts[version - 1]))

    def _could_be_played(self, version: int) -> str:
        choices = self._replay.choices(version)
        return "\n".join(
            f"{seat_name(choice.seat)} may {_or([move_in_words(move) for move in choice.moves])}"
            for choice in choices
            if self._viewer in (AUDITOR, choice.seat)
        )


def _or(words: Sequence[str]) -> str:
    return " or ".join(words)


@contextmanager
def _single_keys() -> Generator[None, None, None]:
    """Get keys one by one, as they are pressed."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key() -> str:
    """Return the next key: a character, or the whole code of an arrow."""
    descriptor = sys.stdin.fileno()
    key = os.read(descriptor, 1)
    if key == ESCAPE.encode():
        while len(key) < len(RIGHT) and select.select([descriptor], [], [], ESCAPE_SECONDS)[0]:
            key += os.read(descriptor, 1)
    return key.decode(errors="replace")
