"""``macao up`` as a child of a test."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import psutil

from services.cli.embedded.mark import mark_of
from services.cli.embedded.ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS: Final = 60.0


class Up:
    """One run of ``macao up`` on a home of its own.

    Args:
        home: where it keeps its data.
        port: where it is to answer; a free one if not given.
        command: what starts the command line; by default this interpreter, without the launcher.
        more: further arguments and keyword arguments of ``subprocess.Popen``.
    """

    def __init__(
        self, home: Path, port: int | None = None, *, command: list[str] | None = None, **more: Any
    ) -> None:
        self.home = home
        self.port = port or free_port()
        # Opened anew to be read: a shared offset would have the child write over what it said before.
        self._output = tempfile.NamedTemporaryFile("a+")  # noqa: SIM115 - closed on exit
        started = command or [sys.executable, "-P", "-m", "services.cli"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("environment", {})}
        self.process = subprocess.Popen(
            [*started, "up", "--home", str(home), "--port", str(self.port), *more.pop("arguments", [])],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=environment,
            **more,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return Path(self._output.name).read_text()

    @property
    def state(self) -> dict[str, Any]:
        return json.loads((self.home / "state.json").read_text())

    def wait_ready(self, seconds: float = PATIENCE_SECONDS) -> Self:
        wait_for(
            lambda: self.process.poll() is not None or " is at " in self.output, seconds, lambda: self.output
        )
        assert self.process.poll() is None, self.output
        assert self.answers()
        return self

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=30) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_SECONDS)


def wait_for(
    condition: Callable[[], object], seconds: float = PATIENCE_SECONDS, tell: Callable[[], str] = lambda: ""
) -> None:
    """Wait until the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {seconds} s: {tell()}"
        time.sleep(0.05)


def processes_of(home: Path) -> list[str]:
    """Return the command lines of all living processes that run from the home, ``macao up`` itself included."""
    found = []
    for process in psutil.process_iter():
        try:
            command = " ".join(process.cmdline())
            if (
                mark_of(home) in command or f"--home {home} " in command
            ) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(command)
        except psutil.Error:
            continue
    return found


@contextmanager
def open_directory() -> Iterator[Path]:
    """Give a temporary directory that every account can enter; pytest's own are closed to all but their maker."""
    directory = Path(tempfile.mkdtemp(prefix="macao-test-"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
