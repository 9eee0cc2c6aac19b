"""Connections to PostgreSQL: a pool for reads and short writes, single ones for those that need one for good."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, Self

import asyncpg
from asyncpg import Connection, Pool

from services.runtime.migrate import APPLICATION_ROLE
from services.runtime.pool import open_pool
from services.runtime.settings import Settings

_logger: Final = logging.getLogger(__name__)

POOL_RESERVED: Final = 2
"""Connections of one process outside the pool that write to the log. Each subscription holds one more."""

CONNECT_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 30.0
HANG_UP_SECONDS: Final = 2.0

BROKEN: Final = (
    OSError,  # refused, reset, unreachable; TimeoutError too
    asyncpg.InterfaceError,  # the driver finds its connection closed
    asyncpg.InternalClientError,  # the driver was taken by surprise, as by a server that says goodbye unasked
    asyncpg.InvalidCachedStatementError,  # a function was replaced under a prepared statement
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutting down, starting up, cancelled by an operator
    asyncpg.InsufficientResourcesError,  # out of disk, memory or connections
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.LockNotAvailableError,  # the operator's lock_timeout
    asyncpg.ReadOnlySQLTransactionError,  # a standby that was the primary a moment ago
)


class Database:
    """The database of one process. Every connection runs with the application's few rights, whoever logged in.

    Names in SQL are always qualified by their schema; the search path is not relied upon.

    Attributes:
        settings: what it was made from.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings: Final = settings
        self._pool: Pool[Any] | None = None

    @property
    def pool(self) -> Pool[Any]:
        """The shared pool. Whoever takes a connection leaves no session state behind: it is not reset on return."""
        if self._pool is None:
            raise RuntimeError("the database is not open")
        return self._pool

    async def open(self) -> None:
        """Open the pool.

        Raises:
            OSError, asyncpg.PostgresError: the server cannot be reached or lets nobody in.
        """
        self._pool = await open_pool(
            self.settings.database_url,
            min_size=1,
            max_size=max(1, self.settings.database_pool_max - POOL_RESERVED),
            init=take_role,
            reset=_keep_session,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings={"application_name": "macao"},
        )

    async def close(self) -> None:
        """Close the pool; connections that are still in use are waited for, then cut."""
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await pool.close()
            except TimeoutError:
                _logger.warning("connections were still in use when the pool closed")
                pool.terminate()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def connect(
        self,
        purpose: str,
        *,
        command_seconds: float | None = COMMAND_SECONDS,
        idle_in_transaction_seconds: float | None = None,
    ) -> Connection[Any]:
        """Open a connection outside the pool, for one that keeps it; ``purpose`` shows in the server's sessions.

        Args:
            purpose: what it is for.
            command_seconds: the longest that a statement may take, as long as it likes for None.
            idle_in_transaction_seconds: after so long without a word inside a transaction the server ends the session,
                so that what a stopped process had locked is free again; None: never.

        Raises:
            OSError, asyncpg.PostgresError: the server cannot be reached or lets nobody in.
        """
        server_settings = {"application_name": f"macao {purpose}"}
        if idle_in_transaction_seconds is not None:
            limit_ms = str(round(idle_in_transaction_seconds * 1000))
            server_settings["idle_in_transaction_session_timeout"] = limit_ms
        connection = await asyncpg.connect(
            self.settings.database_url,
            timeout=CONNECT_SECONDS,
            command_timeout=command_seconds,
            server_settings=server_settings,
        )
        try:
            await take_role(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def take_role(connection: Connection[Any]) -> None:
    """Give up the rights of the login for those of the application's role, where that role can be taken on."""
    try:
        await connection.execute(f"SET ROLE {APPLICATION_ROLE}")
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError):
        # The operator gave a login of its own with the same grants, or none of our roles exist yet.
        _logger.info("this login cannot take on the role %s and keeps its own rights", APPLICATION_ROLE)


async def _keep_session(_connection: Connection[Any]) -> None:
    """Do nothing on return to the pool: asyncpg has ended an open transaction, a reset costs a round trip."""


def connection_broke(error: BaseException) -> bool:
    """Say whether an error is about the connection or the server's state, not about what was asked.

    Then a new connection may do better. Whether the last statement was committed is not known.
    """
    # The driver also reports a value that it cannot encode as an InterfaceError, and then a ValueError as well.
    return isinstance(error, BROKEN) and not isinstance(error, ValueError)


async def hang_up(connection: Connection[Any]) -> None:
    """Close a connection in good manners, or at least in good time."""
    try:
        await connection.close(timeout=HANG_UP_SECONDS)
    except (OSError, asyncpg.InterfaceError, asyncpg.PostgresError):
        connection.terminate()
