"""What benches are compared with comes from package registries, into a cache outside of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

INSTALL_SECONDS_MAX: Final = 600


class NotToBeHadError(Exception):
    """Something cannot be installed or does not run here; the message says why, in one line."""


def cache() -> Path:
    """Return where benches keep what they install."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "macao-bench"


def python_with(pins: Path) -> Path:
    """Return a Python that has the packages that a file of requirements names; the first time they are installed.

    Raises:
        NotToBeHadError: there is no network, no index that has them, or no wheel for this Python.
    """
    version = "{}.{}".format(*sys.version_info[:2])
    digest = sha256(pins.read_bytes()).hexdigest()[:12]
    place = cache() / f"{pins.parent.name}-{pins.stem}-{version}-{digest}"
    python, stamp = place / "bin" / "python", place / "installed"
    if not stamp.exists():
        print(f"installing {pins.parent.name}/{pins.name}, this once", file=sys.stderr)
        said([sys.executable, "-m", "venv", "--clear", str(place)], INSTALL_SECONDS_MAX)
        said([str(python), "-m", "pip", "install", "--quiet", "-r", str(pins)], INSTALL_SECONDS_MAX)
        stamp.touch()
    return python


def said(
    command: list[str],
    seconds_max: float,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end, and return what it wrote.

    Raises:
        NotToBeHadError: it does not start, fails, or takes too long; with the first of its complaints.
    """
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=seconds_max, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotToBeHadError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        telling = [line for line in lines if "error" in line.lower()]
        raise NotToBeHadError((telling or lines[-1:])[0])
    return done.stdout
