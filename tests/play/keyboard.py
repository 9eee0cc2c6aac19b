"""A keyboard that nobody looks at: seeded random lines, sensible or not, the same for every game."""

from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 120.0

LETTERS = sorted(set(string.ascii_lowercase) - {"q"})
NUMBERS = [str(number) for number in range(15)]
CARDS = [f"{rank}{suit}" for rank in ("a", "7", "10", "k") for suit in "cdhs"] + ["bj", "rj"]
ODDITIES = ["", "!", "ü", "stand stand", "1 2 3 4 5", "-1", "play", "catch x", "1 1", "²", "99999999999999999999", "roll\t"]


def typed_at_random(seed: int, lines: int) -> str:
    rng = Random(seed)
    return "".join(f"{_line(rng)}\n" for _ in range(lines))


def _line(rng: Random) -> str:
    sort = rng.random()
    if sort < 0.3:
        return rng.choice(LETTERS)
    if sort < 0.9:
        number = rng.choice(NUMBERS)
        return number + rng.choice(["", "", f" {rng.choice('cdhs')}", " !", f" {rng.choice(NUMBERS)}"])
    return rng.choice(CARDS) if sort < 0.97 else rng.choice(ODDITIES)


def macao(*arguments: str | Path, typed: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command with lines through a pipe, in an environment with nothing in it."""
    return subprocess.run(
        [sys.executable, "-m", "services.cli", *map(str, arguments)],
        cwd=ROOT, env={"PYTHONUTF8": "1"}, timeout=PATIENCE_SECONDS, input=typed, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
