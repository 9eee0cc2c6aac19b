"""The other side: two packages in a virtual environment of their own, driven in a process of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.installing import python_with, said
from bench.kernel.playouts import Pace

HERE: Final = Path(__file__).parent
PINS: Final = HERE / "others.txt"
DRIVER: Final = HERE / "others_driver.py"
START_SECONDS_MAX: Final = 60
SLOWEST: Final = 20
"""A busy machine may take so many seconds for one of the processor's."""


class Others:
    """A Python that has the packages."""

    def __init__(self, python: Path) -> None:
        """Drive them with this Python."""
        self._python = python

    def versions(self) -> str:
        """Return the names and versions of what is compared with."""
        return " and ".join(
            line.replace("==", " ")
            for line in PINS.read_text("utf-8").splitlines()
            if line.startswith(("rlcard", "open-spiel"))
        )

    def try_out(self, contenders: Iterable[str]) -> None:
        """See that all of them play.

        Raises:
            NotToBeHadError: one does not.
        """
        for contender in contenders:
            self.play(contender, seats=4, seconds=0, seed=1)

    def play(self, contender: str, seats: int, seconds: float, seed: int) -> Pace:
        """Let one contender play random matches for so long.

        Raises:
            NotToBeHadError: it failed.
        """
        arguments = [contender, str(seats), str(seconds), str(seed)]
        output = said([str(self._python), str(DRIVER), *arguments], SLOWEST * seconds + START_SECONDS_MAX)
        return Pace(**json.loads(output.splitlines()[-1]))


def install() -> Others:
    """Return the packages; the first time they are installed, later they are found in the cache.

    Raises:
        NotToBeHadError: there is no network, no index that has them, or no wheel for this Python.
    """
    return Others(python_with(PINS))
