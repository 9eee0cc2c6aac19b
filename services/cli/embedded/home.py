"""The home directory of the one-machine default: its lock, its secret key, and word of who runs from it."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec
from msgspec import Struct

from services.cli.embedded.errors import EmbeddedError
from services.cli.embedded.private_file import kept_secret, write_private


class Running(Struct, frozen=True):
    """Word of a running instance, for a second start and for the other commands.

    Attributes:
        url: where it answers.
        database_url: its PostgreSQL, password included.
        redis_url: its Redis or Valkey, password included.
        secret_key: as in the settings.
        parts: the process ids of what it runs, by name.
        pid: the process of ``macao up``.
    """

    url: str
    database_url: str
    redis_url: str
    secret_key: str
    parts: dict[str, int]
    pid: int = msgspec.field(default_factory=os.getpid)


class Home:
    """A home directory, held by one process at a time.

    As a context manager it makes the directory, checks that it can be used, and holds its lock.

    Args:
        directory: the place; made when missing, for root readable by the account that runs the servers.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.expanduser().absolute()
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Take the home.

        Raises:
            EmbeddedError: it cannot be written, or Macao runs from it already, and where.
        """
        try:
            self.directory.mkdir(mode=0o755 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            self._lock = (self.directory / "lock").open("wb")
        except OSError as error:
            raise EmbeddedError(
                f"{self.directory} cannot be used ({error.strerror}): choose a home that you can write with --home DIR."
            ) from error
        if not _try_lock(self._lock):
            self._lock.close()
            raise EmbeddedError(self._who_runs())
        (self.directory / "state.json").unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (self.directory / "state.json").unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()

    def secret_key(self) -> str:
        """Return the key that encrypts seeds and signing keys at rest: drawn once, and kept with the data."""
        return kept_secret(self.directory / "secret.key")

    def announce(self, running: Running) -> None:
        """Say who runs from here."""
        write_private(self.directory / "state.json", msgspec.json.encode(running).decode())

    def running(self) -> Running | None:
        """Return who runs from here, or None. Works without holding the home, for whoever may read it."""
        try:
            with (self.directory / "lock").open("rb") as lock:
                if _try_lock(lock):
                    return None
            return msgspec.json.decode((self.directory / "state.json").read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):
            return None

    def _who_runs(self) -> str:
        running = self.running()
        if running is None:
            return f"Macao is just being started or stopped from {self.directory}: try again in a moment."
        return f"Macao is already running from this home at {running.url} (pid {running.pid})."


def _try_lock(file: IO[bytes]) -> bool:
    """Lock the file unless somebody has. The kernel gives the lock back when its holder dies, however it dies."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
