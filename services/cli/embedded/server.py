"""The life of an embedded server: what PostgreSQL and Valkey have in common."""

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Final, Self

from services.cli.embedded import process
from services.cli.embedded.account import Account, bare_environment, require_entry, service_account
from services.cli.embedded.bounded_log import BoundedLog
from services.cli.embedded.errors import EmbeddedError
from services.cli.embedded.mark import mark_of
from services.cli.embedded.ports import free_port, is_free
from services.cli.embedded.private_file import kept_secret
from services.cli.embedded.programs import Program, runnable

START_ATTEMPTS_MAX: Final = 5
POLL_SECONDS: Final = 0.01


class EmbeddedServer(ABC):
    """A server on a loopback port, as a child of this process.

    Used as a context manager, or by ``start``, ``alive``, ``restart`` and ``stop``. All of it blocks, and belongs
    on the main thread (see ``process``).

    Args:
        directory: where the data, the password, the log and, for root, a copy of the program are kept; made when
            missing. One server of a kind at a time may use it; whoever shares it holds a lock of their own.
    """

    name: str
    process_names: tuple[str, ...]
    parting_signal: Signals
    stop_steps: tuple[tuple[Signals, float], ...]
    start_seconds_max: float

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.log = BoundedLog(self.directory / f"logs/{self.name.lower()}.log")
        self.version = ""
        self.port = 0
        # Stands on the command line or in the title of all its processes, so that they can be told from others'.
        self._mark = mark_of(directory)
        self._account: Account | None = None
        self._executable = Path()
        self._password = ""
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL, password included, by which clients reach the server. Valid once it has been started."""

    @property
    def pid(self) -> int | None:
        """The server's process id while it is started."""
        return self._child.pid if self._child else None

    def alive(self) -> bool:
        """Say whether the server is running; also reaps it when it is not."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the server, and return when it serves.

        Raises:
            EmbeddedError: in one line, why it cannot be had.
        """
        self._account = service_account()
        self.directory.mkdir(parents=True, exist_ok=True)
        require_entry(self.directory, self._account)
        program, self.version = runnable(self._find(), self._account, self.directory / "programs")
        self._executable = program.executable
        self._password = kept_secret(self.directory / f"{self.name.lower()}.password")
        self._prepare()
        self._launch(free_port())

    def restart(self) -> None:
        """Start again after the server died; on the same port, if that is still to be had.

        Raises:
            EmbeddedError: it does not start.
        """
        self.stop()
        self.stop_leftovers()
        self._launch(self.port)

    def stop(self) -> None:
        """Stop the server; its clients are cut off."""
        if self._child is not None:
            process.stop(self._child, self.stop_steps)
            self._child = None

    def stop_leftovers(self) -> None:
        """Stop what an earlier run that was killed has left behind."""
        process.stop_leftovers(process.find_marked(self._mark, *self.process_names), self.stop_steps)

    @abstractmethod
    def _find(self) -> Program:
        """Return the server's program."""

    @abstractmethod
    def _prepare(self) -> None:
        """Clear away what an earlier run left, and make ready what the server needs before its start."""

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Return the command line that serves on ``self.port``."""

    def _standard_input(self) -> bytes | None:
        """Return what the server reads on its standard input."""
        return None

    @abstractmethod
    def _serves(self, pid: int) -> bool:
        """Say whether the process just started accepts clients."""

    def _launch(self, port: int) -> None:
        reason = ""
        for _ in range(START_ATTEMPTS_MAX):
            self.port = port
            log_size = self.log.size()
            if self._came_up():
                return
            reason = self.log.last_words(log_size)
            if is_free(port):
                break
            port = free_port()  # another program was quicker than we to take it
        raise EmbeddedError(f"{self.name} does not start: {reason} (more in {self.log.path})")

    def _came_up(self) -> bool:
        with self.log.open() as output:
            self._child = process.spawn(
                self._command(),
                output=output,
                environment=bare_environment(),
                parting_signal=self.parting_signal,
                account=self._account,
                standard_input=self._standard_input(),
            )
        deadline = time.monotonic() + self.start_seconds_max
        while self._child.poll() is None and time.monotonic() < deadline:
            if self._serves(self._child.pid):
                return True
            time.sleep(POLL_SECONDS)
        self.stop()
        return False
