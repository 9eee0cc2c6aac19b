"""The deployment that is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from services.runtime.settings import Settings


class Patient:
    """What the checks work with.

    Attributes:
        settings: as the services have them.
        connection: to the database, with the rights of the login.
        home: of the running ``macao up``, None for any other deployment.
        server: the address of a service to be asked; empty: none.
    """

    def __init__(
        self, settings: Settings, connection: Any, home: Path | None = None, server: str = ""
    ) -> None:
        self.settings: Final = settings
        self.connection: Final = connection
        self.home: Final = home
        self.server: Final = server

    def directory(self, setting: str) -> Path | None:
        """Return the directory that a setting names, None where it names none."""
        named: str = getattr(self.settings, setting)
        return Path(named) if named else None

    async def value(self, sql: str, *arguments: Any) -> Any:
        """Return one value out of the database."""
        return await self.connection.fetchval(sql, *arguments)

    async def rows(self, sql: str, *arguments: Any) -> list[Any]:
        """Return rows out of the database."""
        found: list[Any] = await self.connection.fetch(sql, *arguments)
        return found
