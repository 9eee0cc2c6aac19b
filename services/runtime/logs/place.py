"""The database of one log, wherever that log lives at the moment.

A log can be moved while processes use it (``moving``). Its writer then finds its connection refused, makes another, and
by that asks anew where the log is. Readers follow with it, and at the latest when the list of logs is read again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asyncpg import Connection, Pool

from services.runtime.database import COMMAND_SECONDS, Database
from services.runtime.logs.servers import Servers


class LogDatabase(Database):
    """A database whose server may change.

    Args:
        servers: all there are.
        server: where the log lives now.
        look: reads the list of logs again, and so may call ``move_to``.
    """

    def __init__(
        self, servers: Servers, main: Database, server: str, look: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(main.settings)
        self._servers = servers
        self._look = look
        self.server = server

    @property
    def pool(self) -> Pool[Any]:
        """The pool of the server that the log lives on.

        Raises:
            ServerAwayError: it has not been reached yet.
        """
        return self._servers.opened(self.server).pool

    def where(self) -> str:
        """Name the server that the log lives on."""
        return self.server

    async def open(self) -> None:
        """Reach the server.

        Raises:
            ServerAwayError
        """
        await self._servers.open(self.server)

    async def close(self) -> None:
        """Do nothing: pools are shared, and closed with all servers."""

    async def connect(
        self,
        purpose: str,
        *,
        command_seconds: float | None = COMMAND_SECONDS,
        idle_in_transaction_seconds: float | None = None,
    ) -> Connection[Any]:
        """Open a connection to where the log lives now; see ``Database.connect``."""
        await self._look()
        return await self._servers.database(self.server).connect(
            purpose,
            command_seconds=command_seconds,
            idle_in_transaction_seconds=idle_in_transaction_seconds,
        )
