"""The deployment that is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import asyncpg
from msgspec import Struct

from services.contracts.ids import DEFAULT_LOG
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.logs.adding import listed
from services.runtime.logs.servers import MAIN, parse_log_servers
from services.runtime.settings import Settings, SettingsError
from services.runtime.tree.store import tree_schema_of

CONNECT_SECONDS: Final = 10
COMMAND_SECONDS: Final = 60


class Server(Struct, frozen=True):
    """A PostgreSQL on which a log lives, with a connection to it."""

    name: str
    connection: Any

    @property
    def of(self) -> str:
        """What is put behind the subject of a finding about it."""
        return "" if self.name == MAIN else f" of the server {self.name}"


class LivingLog(Struct, frozen=True):
    """A log, with a connection to where it lives."""

    log: EventLog
    server: Server

    @property
    def name(self) -> str:
        """Its name."""
        return self.log.name

    @property
    def connection(self) -> Any:
        """To the server that it lives on."""
        return self.server.connection

    @property
    def schema(self) -> str:
        """The schema that holds its events."""
        return self.log.schema

    @property
    def tree(self) -> str:
        """The schema that holds what was signed about it."""
        return tree_schema_of(self.log.name)

    @property
    def of(self) -> str:
        """What is put behind the subject of a finding about it."""
        return "" if self.name == DEFAULT_LOG else f" of {self.name}"


class Patient:
    """What the checks work with.

    Attributes:
        settings: as the services have them.
        connection: to the main database, with the rights of the login.
        home: of the running ``macao up``, None for any other deployment.
        server: the address of a service to be asked; empty: none.
        unreachable: logs that cannot be looked at, and why; known after ``logs``.
    """

    def __init__(
        self, settings: Settings, connection: Any, home: Path | None = None, server: str = ""
    ) -> None:
        self.settings: Final = settings
        self.connection: Final = connection
        self.home: Final = home
        self.server: Final = server
        self.unreachable: Final[dict[str, str]] = {}
        self._logs: list[LivingLog] | None = None
        self._servers: Final = {MAIN: Server(MAIN, connection)}

    def directory(self, setting: str) -> Path | None:
        """Return the directory that a setting names, None where it names none."""
        named: str = getattr(self.settings, setting)
        return Path(named) if named else None

    async def value(self, sql: str, *arguments: Any) -> Any:
        """Return one value out of the main database."""
        return await self.connection.fetchval(sql, *arguments)

    async def rows(self, sql: str, *arguments: Any) -> list[Any]:
        """Return rows out of the main database."""
        found: list[Any] = await self.connection.fetch(sql, *arguments)
        return found

    async def logs(self) -> list[LivingLog]:
        """Return every log that can be reached, the main one first; the others are in ``unreachable``."""
        if self._logs is None:
            reached: list[LivingLog] = []
            for one in await listed(self.connection):
                server = await self._reached(one.name, one.server)
                if server is None:
                    continue
                log = EventLog(Database(self.settings), name=one.name)
                if await server.connection.fetchval("SELECT to_regclass($1) IS NULL", f"{log.schema}.events"):
                    self.unreachable[one.name] = f"on the server {one.server} there is no schema {log.schema}"
                else:
                    reached.append(LivingLog(log, server))
            self._logs = reached
        return self._logs

    async def servers(self) -> list[Server]:
        """Return every server on which a log lives and that can be reached, the main one first.

        That is the main one alone where the database is not at a schema that has a list of logs.
        """
        if await self.value("SELECT to_regclass('macao_runtime.logs') IS NOT NULL"):
            await self.logs()
        return list(self._servers.values())

    async def close(self) -> None:
        """Close what was opened here: the connections to servers other than the main one."""
        for name in [name for name in self._servers if name != MAIN]:
            await self._servers.pop(name).connection.close()
        self._logs = None

    async def _reached(self, log: str, name: str) -> Server | None:
        if name in self._servers:
            return self._servers[name]
        try:
            urls = parse_log_servers(self.settings.log_servers)
        except SettingsError as error:
            self.unreachable[log] = str(error)
            return None
        if name not in urls:
            self.unreachable[log] = f"MACAO_LOG_SERVERS does not name a server {name}"
            return None
        try:
            connection = await asyncpg.connect(
                urls[name], timeout=CONNECT_SECONDS, command_timeout=COMMAND_SECONDS
            )
        except (OSError, asyncpg.PostgresError, ValueError) as error:
            self.unreachable[log] = f"the server {name} cannot be reached: {error!r}"
            return None
        return self._servers.setdefault(name, Server(name, connection))
