"""``macao play`` in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import Self

import pytest

from tests.play.keyboard import PATIENCE_SECONDS, ROOT, Hand

LINES_MAX = 400
RED = re.compile(r"\x1b\[[0-9;]*91m")
ALTERNATE_ON, ALTERNATE_OFF = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, *arguments: str, columns: int = 120) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "play", *arguments],
            cwd=ROOT, env={"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40", "PYTHONUTF8": "1"},
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self) -> None:
        time.sleep(0.5)  # a signal between the prompt and the reading behind it waits for the next key
        self._process.send_signal(signal.SIGINT)

    def read_until(self, *endings: str) -> str:
        """Return what is new up to one of these texts."""
        new = ""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(ending in new for ending in endings):
            assert time.monotonic() < deadline, new[-2000:]
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    new += os.read(self._master, 65536).decode(errors="replace")
                except OSError:  # the other end is closed
                    break
        self.said += new
        return new

    def wait(self) -> int:
        while self._process.poll() is None:
            self.read_until("\0")
        return self._process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_a_whole_match(columns):
    hand = Hand(3)
    with Terminal("dice-race", "--seed", "pty", columns=columns) as terminal:
        new = terminal.read_until("\n> ")
        assert ALTERNATE_ON in new
        assert "Seat 0 at the keyboard" in new
        for _ in range(LINES_MAX):
            if ALTERNATE_OFF in new:
                break
            terminal.type("s" if "  stand  " in new else hand.choose("r  roll"))
            new = terminal.read_until("\n> ", ALTERNATE_OFF)
        assert terminal.wait() == 0
        assert "You have place" in terminal.said


def test_ctrl_c_gives_the_terminal_back_and_says_nothing():
    with Terminal("cards-points", "--against", "people", "--seed", "pty") as terminal:
        terminal.read_until("press Enter.")
        terminal.type("")
        screen = terminal.read_until("at the keyboard") + terminal.read_until("> ")
        assert RED.search(screen)
        terminal.interrupt()
        assert terminal.wait() == 130
        assert ALTERNATE_OFF in terminal.said
        assert "Traceback" not in terminal.said


def test_ctrl_d_ends():
    with Terminal("dice-race") as terminal:
        terminal.read_until("\n> ")
        terminal.type("\x04\x04")
        assert terminal.wait() == 0
        assert "it does not count" in terminal.said
