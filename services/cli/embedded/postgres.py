"""One PostgreSQL server, its data kept in a directory between runs."""

import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from psutil import Process

from services.cli.embedded import process
from services.cli.embedded.account import make_private_directory, run_as
from services.cli.embedded.errors import EmbeddedError
from services.cli.embedded.ports import LOOPBACK
from services.cli.embedded.programs import Program, find_postgres
from services.cli.embedded.server import EmbeddedServer

USER: Final = "macao"
DATABASE: Final = "macao"
FIRST_MAJOR_WITH_BUILTIN_LOCALES: Final = 17
STATUS_LINE: Final = 7  # of postmaster.pid, counted from 0

SETTINGS: Final = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",  # no socket file: nothing to go stale, no path too long
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "jit": "off",  # the queries are short
}
# Only a crash of the whole machine needs these, and what is thrown away need not survive that.
THROWAWAY_SETTINGS: Final = {"fsync": "off", "full_page_writes": "off"}


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL server on a loopback port, with a database ``macao`` and a superuser of that name.

    Args:
        directory: see ``EmbeddedServer``; the data directory in it is named by the major version.
        throwaway: the data may be lost with the machine, though not with the process; for tests.
    """

    name = "PostgreSQL"
    process_names = ("postgres",)
    parting_signal = signal.SIGINT
    # Fast shutdown; then immediate shutdown, which the next start's recovery repairs.
    stop_steps = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0))
    start_seconds_max = 120.0  # recovery may have a gigabyte of log to read back

    def __init__(self, directory: Path, *, throwaway: bool = False) -> None:
        super().__init__(directory)
        self._settings = {**SETTINGS, **(THROWAWAY_SETTINGS if throwaway else {}), "cluster_name": self._mark}
        self._data = Path()

    @property
    def url(self) -> str:
        """The superuser's URL of the database ``macao``."""
        return f"postgresql://{USER}:{self._password}@{LOOPBACK}:{self.port}/{DATABASE}"

    def stop_leftovers(self) -> None:
        """Stop a server that an earlier run left behind, and backends that outlived their postmaster."""
        postmasters = [found for found in self._marked() if "-D" in process.command_of(found)]
        process.stop_leftovers(postmasters, self.stop_steps)
        process.stop_leftovers(self._marked(), ((signal.SIGQUIT, 10.0),))
        # Whatever ran here is gone now, and the number in the file may belong to another program.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _marked(self) -> list[Process]:
        return process.find_marked(self._mark, *self.process_names)

    def _find(self) -> Program:
        return find_postgres()

    def _prepare(self) -> None:
        major = int(self.version.split(".")[0])
        self._data = self.directory / f"postgres-{major}"
        self.stop_leftovers()
        if not self._data.exists():
            self._refuse_other_versions(major)
            self._initialise(major)

    def _refuse_other_versions(self, major: int) -> None:
        """An empty server beside yesterday's data would look like a loss of everything."""
        for other in sorted(self.directory.glob("postgres-*/PG_VERSION")):
            raise EmbeddedError(
                f"{other.parent} holds data of PostgreSQL {other.read_text().strip()}, and this is PostgreSQL {major}: "
                "move them over with pg_dump, or choose another home with --home DIR."
            )

    def _initialise(self, major: int) -> None:
        """Make the data directory with the database ``macao`` in it, whole or not at all."""
        draft = self.directory / f"initialising-{major}"
        shutil.rmtree(draft, ignore_errors=True)
        make_private_directory(draft, self._account)
        locale = (
            ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            if major >= FIRST_MAJOR_WITH_BUILTIN_LOCALES
            else ["--locale=C.UTF-8"]
        )
        with tempfile.TemporaryDirectory(prefix="macao-") as scratch:
            password_file = Path(scratch) / "password"
            password_file.write_text(self._password + "\n", "ascii")
            password_file.chmod(0o600)
            if self._account is not None:
                for path in (Path(scratch), password_file):
                    shutil.chown(path, self._account.uid, self._account.gid)
            self._run(
                str(self._executable.with_name("initdb")),
                f"--pgdata={draft}",
                f"--username={USER}",
                "--auth=scram-sha-256",
                f"--pwfile={password_file}",
                "--encoding=UTF8",
                *locale,
                *(["--no-sync"] if self._settings["fsync"] == "off" else []),
            )
        alone = [str(self._executable), "--single", "-D", str(draft), "-c", "log_checkpoints=off", "postgres"]
        self._run(*alone, standard_input=f"CREATE DATABASE {DATABASE}\n".encode())
        draft.rename(self._data)

    def _run(self, *command: str, standard_input: bytes = b"") -> None:
        ran = run_as(self._account, list(command), standard_input=standard_input)
        lines = ran.stdout.decode(errors="replace").splitlines()
        telling = [line for line in lines if "error:" in line or "ERROR:" in line or "FATAL:" in line]
        if ran.returncode or telling:
            reason = (telling or lines or ["it gave no reason"])[0]
            raise EmbeddedError(f"PostgreSQL cannot make its data directory in {self.directory}: {reason}")

    def _command(self) -> Sequence[str]:
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._executable), "-D", str(self._data), "-p", str(self.port), *settings]

    def _serves(self, pid: int) -> bool:
        """Read the postmaster's own word: its file begins with its process id, and has its status further down."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > STATUS_LINE and lines[0] == str(pid) and lines[STATUS_LINE].strip() == "ready"
