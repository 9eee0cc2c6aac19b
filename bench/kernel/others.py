"""The other side: two packages in a virtual environment of their own, driven in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from bench.kernel.playouts import Pace

HERE: Final = Path(__file__).parent
PINS: Final = HERE / "others.txt"
DRIVER: Final = HERE / "others_driver.py"
INSTALL_SECONDS_MAX: Final = 600
START_SECONDS_MAX: Final = 60
SLOWEST: Final = 20
"""A busy machine may take so many seconds for one of the processor's."""


class NotToBeHadError(Exception):
    """The packages cannot be installed or do not run here; the message says why, in one line."""


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
        output = _run([str(self._python), str(DRIVER), *arguments], SLOWEST * seconds + START_SECONDS_MAX)
        return Pace(**json.loads(output.splitlines()[-1]))


def install() -> Others:
    """Return the packages; the first time they are installed, later they are found in the cache.

    Raises:
        NotToBeHadError: there is no network, no index that has them, or no wheel for this Python.
    """
    version = "{}.{}".format(*sys.version_info[:2])
    pins = sha256(PINS.read_bytes()).hexdigest()[:12]
    place = cache() / f"kernel-others-{version}-{pins}"
    python, stamp = place / "bin" / "python", place / "installed"
    if not stamp.exists():
        print(f"installing {PINS.name} into {place.name}, this once", file=sys.stderr)
        _run([sys.executable, "-m", "venv", "--clear", str(place)], INSTALL_SECONDS_MAX)
        _run([str(python), "-m", "pip", "install", "--quiet", "-r", str(PINS)], INSTALL_SECONDS_MAX)
        stamp.touch()
    return Others(python)


def cache() -> Path:
    """Return where benches keep what they install, outside of the repository."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "macao-bench"


def _run(command: list[str], seconds_max: float) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds_max, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotToBeHadError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise NotToBeHadError(lines[-1])
    return done.stdout
