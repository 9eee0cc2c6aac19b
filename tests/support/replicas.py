"""A primary and its standby: two real PostgreSQL servers with streaming replication, and the change between them.

What a manager of failovers does in life (Patroni, an operator) is done here by the test: nobody but the test promotes.
"""

from __future__ import annotations

import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import asyncpg
import psutil

from services.cli.embedded import EmbeddedPostgres
from services.cli.embedded.account import make_private_directory
from services.cli.embedded.ports import LOOPBACK, free_port
from services.cli.embedded.postgres import DATABASE, USER

PATIENCE_SECONDS: Final = 30.0


def _standing_still(pid: int) -> list[psutil.Process]:
    """Suspend a server: first its postmaster, which then starts nobody, and then who is left of its children."""
    postmaster = psutil.Process(pid)
    postmaster.suspend()
    stopped = [postmaster]
    for child in postmaster.children():
        with suppress(psutil.NoSuchProcess):  # it had just done what it was for
            child.suspend()
            stopped.append(child)
    return stopped


class Server(EmbeddedPostgres):
    """A server that keeps its port for life, and can be made a copy of another."""

    def __init__(self, directory: Path, **settings: str) -> None:
        super().__init__(directory, throwaway=True)
        self._settings |= settings
        self._fixed_port = free_port()
        self._primary: Server | None = None
        self._frozen = False

    @property
    def data(self) -> Path:
        """The data directory."""
        return self._data

    def program(self, name: str) -> str:
        """Return the path of a program that came with the server."""
        return str(self._executable.with_name(name))

    def follow(self, primary: Server) -> Self:
        """Become a standby: throw away what is here, and copy the primary."""
        self.stop()
        self._primary = primary
        if self._data != Path():
            shutil.rmtree(self._data)
        self.start()
        return self

    def stop(self) -> None:
        """Stop, however it is."""
        if self._frozen:
            self.kill()
        super().stop()

    def kill(self) -> None:
        """Have all of its processes gone at once, as with the machine."""
        assert self._child is not None
        everybody = _standing_still(self._child.pid)
        for process in everybody:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(everybody, timeout=PATIENCE_SECONDS)
        self._child.wait()
        self._child, self._frozen = None, False

    def take_password_of(self, other: Server) -> None:
        """Know the password that is in data which are copied from another server."""
        self._password = other._password

    def freeze(self) -> None:
        """Have all of its processes stand still, their connections open: nobody is told anything."""
        assert self._child is not None
        self._frozen = True
        _standing_still(self._child.pid)

    def _initialise(self, major: int) -> None:
        if self._primary is None:
            super()._initialise(major)
            return
        self.take_password_of(self._primary)
        make_private_directory(self._data, self._account)
        self._run(
            self.program("pg_basebackup"), f"--dbname={self._primary.url}", f"--pgdata={self._data}",
            "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync",
        )  # fmt: skip

    def _launch(self, port: int) -> None:  # noqa: ARG002 - the one that was chosen before
        super()._launch(self._fixed_port)
        self._fixed_port = self.port  # another, if somebody was quicker to take it


class Pair:
    """Two servers, one of which follows the other.

    Attributes:
        primary: the one that may be written to.
        standby: the other.
    """

    def __init__(self, directory: Path) -> None:
        self.servers: Final = tuple(Server(directory / name) for name in ("a", "b"))
        self.primary, self.standby = self.servers

    def __enter__(self) -> Self:
        for server in self.servers:
            server.directory.mkdir(parents=True, exist_ok=True)
        self.primary.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.stop()

    @property
    def url(self) -> str:
        """The URL by which whichever may be written to is found."""
        login = self.primary.url.partition("@")[0]
        hosts = ",".join(f"{LOOPBACK}:{server._fixed_port}" for server in self.servers)
        return f"{login}@{hosts}/{DATABASE}"

    def replicate(self) -> None:
        """Have the other server follow."""
        self.standby.follow(self.primary)

    async def synchronous(self, *, on: bool = True) -> None:
        """Have commits wait for the standby from now on, or no longer."""
        async with Owner(self.primary.url) as owner:
            # Not in what a standby copies: a primary that waits for a standby it does not have yet would take no move.
            await owner.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if on else ''}'")
            await owner.execute("SELECT pg_reload_conf()")
            deadline = time.monotonic() + PATIENCE_SECONDS
            while on and not await owner.fetchval(
                "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
            ):
                assert time.monotonic() < deadline, "the standby does not follow"

    async def promote(self) -> None:
        """Have the standby take over."""
        async with Owner(self.standby.url) as owner:
            assert await owner.fetchval("SELECT pg_promote(true, 60)")
        self.primary, self.standby = self.standby, self.primary


class Owner:
    """A superuser's connection."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __aenter__(self) -> asyncpg.Connection[Any]:
        self._connection = await asyncpg.connect(self._url)
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()


__all__ = ["USER", "Owner", "Pair", "Server"]
