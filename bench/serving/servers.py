"""PostgreSQL and Valkey for one bench, and services as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from services.cli.embedded import EmbeddedPostgres, EmbeddedValkey
from services.cli.embedded.ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0
PLENTY: Final = "60000000"


class Servers(Struct, frozen=True):
    """The servers of one bench.

    Attributes:
        directory: where they keep their data, and processes what they say.
        postgres_pid: the PostgreSQL's process, None if it is not ours.
    """

    database_url: str
    redis_url: str
    directory: Path
    postgres_pid: int | None

    @property
    def environment(self) -> dict[str, str]:
        """What a service is told: everything is on, also counting requests, but nobody comes to a limit."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            "MACAO_DATABASE_URL": self.database_url,
            "MACAO_REDIS_URL": self.redis_url,
            "MACAO_SECRET_KEY": "A" * 43,
            "MACAO_CHECKPOINT_DIRECTORY": str(self.directory / "checkpoints"),
            "MACAO_GUESTS_PER_MINUTE": "1000000",
            "MACAO_REQUESTS_PER_CALLER": PLENTY,
            "MACAO_REQUESTS_PER_ADDRESS": PLENTY,
            "MACAO_STREAMS_PER_CALLER": "1000000",
            "MACAO_STREAMS_PER_ADDRESS": "1000000",
        }


class Process(Struct, frozen=True):
    """A process that answers at a URL."""

    url: str
    port: int
    pid: int


@contextmanager
def servers(database_url: str | None = None) -> Iterator[Servers]:
    """Start PostgreSQL, unless one is given, and Valkey; stop them at the end."""
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
            )
        )
        directory.chmod(0o755)  # for root, the account that runs the servers has to get in
        (directory / "checkpoints").mkdir()
        postgres_pid = None
        if database_url is None:
            postgres = stack.enter_context(EmbeddedPostgres(directory))
            database_url, postgres_pid = postgres.url, postgres.pid
        redis_url = stack.enter_context(EmbeddedValkey(directory)).url
        yield Servers(database_url, redis_url, directory, postgres_pid)


@contextmanager
def serving(service: str, given: Servers, more: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Run one service as operators do, with what it says in a file."""
    port = free_port()
    command = [sys.executable, "-P", "-m", "services.cli", "serve", service, "--port", str(port)]
    with running(
        command, given.environment | dict(more or {}), port, given.directory / f"{service}.log"
    ) as found:
        yield found


@contextmanager
def running(command: list[str], environment: Mapping[str, str], port: int, output: Path) -> Iterator[Process]:
    """Run a process until the end, and stop it then."""
    with output.open("ab") as said:
        process = subprocess.Popen(
            command, env=dict(environment), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        _wait_listening(port, process, output)
        yield Process(f"http://127.0.0.1:{port}", port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_listening(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    """Wait until a process answers HTTP, with whatever.

    Raises:
        RuntimeError: it does not, in good time; with the end of what the process said.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing answers on port {port}: {output.read_text('utf-8', 'replace')[-2000:]}")
