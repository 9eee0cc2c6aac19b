"""PgBouncer as ``deploy/pgbouncer`` configures it, in front of a server of the test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from services.cli.embedded.account import bare_environment, service_account
from services.cli.embedded.ports import LOOPBACK, free_port, is_free
from tests.support.up import ROOT, wait_for

CONFIGURATION: Final = ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini"
LOGIN: Final = "macao_service"
PASSWORD: Final = "of-the-tests"


def find_pgbouncer() -> str | None:
    """Return the program, None where the machine has none."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


class PgBouncer:
    """A pooler on a port of its own.

    Args:
        directory: for its files; the account that runs it has to get in.
        server_url: what it stands in front of.
        more: settings in place of those in the file.
    """

    def __init__(self, directory: Path, server_url: str, **more: str) -> None:
        self._server = urlsplit(server_url)
        self.port: Final = free_port()
        self._directory = directory
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        directory = self._directory / f"pgbouncer-{self.port}"
        directory.mkdir(mode=0o755)
        users = directory / "userlist.txt"
        users.write_text(f'"{LOGIN}" "{PASSWORD}"\n')
        configuration = directory / "pgbouncer.ini"
        settings = {
            "listen_addr": LOOPBACK,
            "listen_port": str(self.port),
            "auth_file": str(users),
            **self._more,
        }
        text = CONFIGURATION.read_text()
        for name, value in settings.items():
            text, found = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
            assert found == 1, name
        name = self._server.path[1:]
        text, found = re.subn(
            r"(?m)^macao = .*$",
            f"{name} = host={self._server.hostname} port={self._server.port} dbname={name}",
            text,
        )
        assert found == 1
        configuration.write_text(text)
        program = find_pgbouncer()
        assert program is not None
        account = service_account()
        with (directory / "log").open("wb") as output:
            self._process = subprocess.Popen(
                [program, str(configuration)], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd="/", env=bare_environment(), user=account.uid if account else None,
                group=account.gid if account else None, extra_groups=[] if account else None,
            )  # fmt: skip
        wait_for(lambda: not is_free(self.port), tell=(directory / "log").read_text)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """Have it gone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    @property
    def host(self) -> str:
        """Address and port."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        """The service's URL through the pooler."""
        return urlunsplit(self._server._replace(netloc=f"{LOGIN}:{PASSWORD}@{self.host}"))

    async def show(self, what: str) -> list[dict[str, Any]]:
        """Ask the pooler about itself."""
        connection = await asyncpg.connect(
            f"postgresql://{LOGIN}:{PASSWORD}@{self.host}/pgbouncer", statement_cache_size=0
        )
        try:
            rows = await connection._protocol.query(f"SHOW {what}", 10)
        finally:
            await connection.close()
        return rows


async def make_login(owner_url: str) -> str:
    """Make the login of the services as ``deploy/sql/logins.sql`` says, and return the URL by which it comes in."""
    text = (ROOT / "deploy" / "sql" / "logins.sql").read_text()
    statements = text.replace(":'password'", f"'{PASSWORD}'")
    create = re.search(r"(?m)^CREATE ROLE .*;$", statements)
    assert create is not None
    connection = await asyncpg.connect(owner_url)
    try:
        if not await connection.fetchval("SELECT count(*) FROM pg_roles WHERE rolname = $1", LOGIN):
            await connection.execute(create[0])
        await connection.execute(
            "\n".join(line for line in statements.splitlines() if line.startswith(("ALTER", "GRANT")))
        )
    finally:
        await connection.close()
    parts = urlsplit(owner_url)
    return urlunsplit(parts._replace(netloc=f"{LOGIN}:{PASSWORD}@{parts.netloc.rpartition('@')[2]}"))


__all__ = ["PgBouncer", "find_pgbouncer", "make_login"]
