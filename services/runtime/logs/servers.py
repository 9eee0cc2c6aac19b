"""The PostgreSQL servers on which logs may live, by name: ``MACAO_LOG_SERVERS``, read and opened."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from typing import Final

import asyncpg
from msgspec.structs import replace

from services.runtime.database import Database
from services.runtime.settings import Settings, SettingsError

MAIN: Final = "main"
"""The server of ``MACAO_DATABASE_URL``."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_logger: Final = logging.getLogger(__name__)


class ServerAwayError(OSError):
    """A server on which a log lives is not there, or not known to this process. It may be so in a moment."""


def parse_log_servers(text: str) -> dict[str, str]:
    """Read ``name=postgresql://… name=postgresql://…``, separated by spaces; return URLs by name.

    Raises:
        SettingsError: in one line, what is wrong; URLs are not quoted, as they hold passwords.
    """
    found: dict[str, str] = {}
    for number, word in enumerate(text.split(), 1):
        name, equals, url = word.partition("=")
        if not equals or _NAME.fullmatch(name) is None:
            raise _unusable(f"its word {number} is not like name=postgresql://user:password@host/database")
        if name == MAIN or name in found:
            raise _unusable(f"the name {name} is taken" + (" by MACAO_DATABASE_URL" if name == MAIN else ""))
        if not url.startswith(("postgresql://", "postgres://")):
            raise _unusable(f"the URL of {name} does not begin with postgresql://")
        found[name] = url
    return found


class Servers:
    """The databases of one process besides its own. Each is opened when a log that it serves first needs it.

    Args:
        main: the process's own database; somebody else opens and closes it.
    """

    def __init__(self, main: Database, settings: Settings) -> None:
        """Read the settings.

        Raises:
            SettingsError: they name no servers in the way they should.
        """
        self._settings = settings
        self._urls: Mapping[str, str] = parse_log_servers(settings.log_servers)
        self._databases: dict[str, Database] = {MAIN: main}
        self._open: set[str] = {MAIN}
        self._opening = asyncio.Lock()

    def __contains__(self, name: object) -> bool:
        return name == MAIN or name in self._urls

    def database(self, name: str) -> Database:
        """Return the database of a server, open or not: single connections can be made either way.

        Raises:
            ServerAwayError: this process does not know the server.
        """
        if name not in self._databases:
            if name not in self._urls:
                raise ServerAwayError(f"MACAO_LOG_SERVERS of this process does not name the server {name}")
            self._databases[name] = Database(
                replace(self._settings, database_url=self._urls[name], database_direct_url="")
            )
        return self._databases[name]

    def opened(self, name: str) -> Database:
        """Return the database of a server with its pool open.

        Raises:
            ServerAwayError: it is not open.
        """
        if name not in self._open:
            raise ServerAwayError(f"the server {name} has not been reached yet")
        return self._databases[name]

    async def open(self, name: str) -> None:
        """Open the pool of a server, unless it is open.

        Raises:
            ServerAwayError: it cannot be reached, or is not known.
        """
        async with self._opening:
            if name in self._open:
                return
            database = self.database(name)
            try:
                await database.open()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                raise ServerAwayError(f"the server {name} cannot be reached: {error!r}") from error
            self._open.add(name)

    async def close(self) -> None:
        """Close what was opened here."""
        for name in self._open - {MAIN}:
            await self._databases.pop(name).close()
        self._open = {MAIN}


def _unusable(reason: str) -> SettingsError:
    return SettingsError(f"MACAO_LOG_SERVERS cannot be used: {reason}")
