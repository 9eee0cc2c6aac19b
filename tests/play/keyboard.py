"""A keyboard that a seeded random hand plays on, through a pipe, the same for every game.

It reads the menu and mostly types something of it, and now and then something that is nothing.
"""

from __future__ import annotations

import re
import string
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
PROMPT = b"> "
ENVIRONMENT = {"PYTHONUTF8": "1"}

LEAVING = {"leave", "q"}
LETTERS = sorted(set(string.ascii_lowercase) - {"q"})
NUMBERS = [str(number) for number in range(15)]
CARDS = [f"{rank}{suit}" for rank in ("a", "7", "10", "k") for suit in "cdhs"] + ["bj", "rj", "7♥"]
ODDITIES = [
    "", "!", "ü", "stand stand", "1 2 3 4 5", "-1", "play", "catch x", "1 1", "²", "9" * 20, "roll\t", "[bold]", "\\",
]  # fmt: skip
ITEM = re.compile(r"(?:^|   )(\S[^ ]*(?: [^ ]+)*)  \S")


def macao(*arguments: str | Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command with these lines typed, in an environment with nothing in it."""
    return subprocess.run(
        [sys.executable, "-m", "services.cli", *map(str, arguments)],
        cwd=ROOT, env=ENVIRONMENT, timeout=PATIENCE_SECONDS, input=typed, capture_output=True, text=True, check=False,
    )  # fmt: skip


def play_at_random(*arguments: str | Path, seed: int = 1) -> str:
    """Play until the command ends by itself, and return all that it said."""
    hand = Hand(seed)
    with subprocess.Popen(
        [sys.executable, "-m", "services.cli", "play", *map(str, arguments)],
        cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        said = b""
        while (more := _until_prompt(process.stdout)).endswith(PROMPT):
            said += more
            process.stdin.write(f"{hand.choose(more.decode())}\n".encode())
            process.stdin.flush()
        process.stdin.close()
    assert process.returncode == 0, (said + more).decode()[-3000:]
    return (said + more).decode()


def _until_prompt(output: IO[bytes]) -> bytes:
    """Read up to a prompt, or to the end: a prompt comes after a line feed, and nothing comes after it."""
    said = bytearray()
    while byte := output.read(1):
        said += byte
        if said.endswith(b"\n" + PROMPT):
            break
    return bytes(said)


class Hand:
    """Chooses what to type, by chance and by the menu that was shown last."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._menu: list[str] = []

    def choose(self, said: str) -> str:
        """Return a line, given what was said since the last one."""
        rng = self._rng
        shown = [
            keys for line in said.splitlines()[-4:] for keys in ITEM.findall(line) if keys not in LEAVING
        ]
        self._menu = shown or self._menu
        if rng.random() < 0.1 or not self._menu:
            return str(rng.choice(rng.choice([LETTERS, NUMBERS, CARDS, ODDITIES])))
        said_aloud = [keys for keys in self._menu if keys.endswith("!")]
        keys = str(rng.choice(said_aloud or self._menu))
        if " to " in keys:
            least, most = keys.split(" to ")
            return str(rng.randint(int(least), int(most)))
        if " or " in keys:
            return str(rng.choice(keys.split(" or "))) + rng.choice(["", "", " s", " !"])
        return "" if keys == "Enter" else keys
