"""Connections to PostgreSQL: a pool for reads and short writes, single ones for those that need one for good.

Between the pool and the server there may be a pooler that lends a session out for one transaction at a time, as
PgBouncer does. Then nothing of the pool's outlives a transaction: no role that was taken on, no prepared statement, no
lock of a session. Who needs a session of its own (writers, readers of the log, rebuilds) goes around the pooler.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, Self

import asyncpg
from asyncpg import Connection, Pool

from services.runtime.hosts import Hosts
from services.runtime.migrate import APPLICATION_ROLE
from services.runtime.pool import open_pool
from services.runtime.settings import Settings, SettingsError

_logger: Final = logging.getLogger(__name__)

POOL_RESERVED: Final = 2
"""Connections of one process outside the pool that write to the log. Each subscription holds one more."""

CLOSE_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 30.0
HANG_UP_SECONDS: Final = 2.0

STATEMENTS_MAX: Final = 100
"""How many prepared statements a connection keeps."""

_END_WHEN_LEFT: Final = {"client_connection_check_interval": "5000"}
"""In milliseconds. A server that cannot commit, as without its synchronous standby, would go on to collect the sessions
of those who have given up on it, until it has no room for others."""

_SETTLE: Final = """
SELECT pg_logical_emit_message(true, 'macao', '') WHERE current_setting('synchronous_standby_names') <> ''
"""

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
        self._pooled: Final = bool(settings.database_direct_url)
        self._session_hosts: Final = Hosts(settings.database_direct_url or settings.database_url)
        self._pool_hosts = self._session_hosts
        if self._pooled:
            self._pool_hosts = Hosts(settings.database_url, pooled=True)
            self._session_hosts.followed_by(self._pool_hosts)

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
            SettingsError: a pooler stands where the server itself has to be named.
        """
        await self._look_for_a_pooler()
        self._pool = await open_pool(
            self.settings.database_url,
            min_size=1,
            max_size=max(1, self.settings.database_pool_max - POOL_RESERVED),
            connect=self._pool_hosts.connect,
            init=_look_at_rights if self._pooled else take_role,
            reset=_keep_session if self._pooled else _drop_if_read_only,
            statement_cache_size=0 if self._pooled else STATEMENTS_MAX,
            command_timeout=COMMAND_SECONDS,
            # A pooler takes no setting that it does not know.
            server_settings={"application_name": "macao", **({} if self._pooled else _END_WHEN_LEFT)},
        )

    async def close(self) -> None:
        """Close the pool; connections that are still in use are waited for, then cut."""
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
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
        server_settings = {"application_name": f"macao {purpose}", **_END_WHEN_LEFT}
        if idle_in_transaction_seconds is not None:
            limit_ms = str(round(idle_in_transaction_seconds * 1000))
            server_settings["idle_in_transaction_session_timeout"] = limit_ms
        connection = await self._session_hosts.connect(
            command_timeout=command_seconds,
            server_settings=server_settings,
        )
        try:
            await take_role(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _look_for_a_pooler(self) -> None:
        """See to it that sessions are sessions: behind a pooler locks would stay with whoever comes next.

        Raises:
            SettingsError: they are not.
        """
        connection = await self._session_hosts.connect()
        try:
            # A pooler gives its clients numbers of its own for what they call the server's process.
            if await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid():
                raise SettingsError(
                    "MACAO_DATABASE_DIRECT_URL has to lead to PostgreSQL itself, and a pooler answers"
                    if self._pooled
                    else "MACAO_DATABASE_URL leads to a pooler: name PostgreSQL itself in MACAO_DATABASE_DIRECT_URL"
                )
        finally:
            await hang_up(connection)


async def take_role(connection: Connection[Any]) -> None:
    """Give up the rights of the login for those of the application's role, where that role can be taken on."""
    try:
        await connection.execute(f"SET ROLE {APPLICATION_ROLE}")
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError):
        # The operator gave a login of its own with the same grants, or none of our roles exist yet.
        _logger.info("this login cannot take on the role %s and keeps its own rights", APPLICATION_ROLE)


async def _look_at_rights(connection: Connection[Any]) -> None:
    """Say so when sessions behind a pooler may do more than the application needs: they cannot take on its role."""
    if await connection.fetchval(
        "SELECT has_table_privilege(to_regclass('macao_log.events'), 'INSERT')"
        " OR has_table_privilege(to_regclass('macao_log.events'), 'DELETE')"
    ):
        _logger.warning(
            "the login of MACAO_DATABASE_URL may write to the log past its function; let its sessions begin as %s:"
            " ALTER ROLE ... SET role TO %s",
            APPLICATION_ROLE,
            APPLICATION_ROLE,
        )


async def _keep_session(_connection: Connection[Any]) -> None:
    """Do nothing on return to the pool: the session is not ours."""


async def _drop_if_read_only(connection: Connection[Any]) -> None:
    """On return to the pool, part with a server that is no longer written to.

    That is all: asyncpg has ended an open transaction, and a reset of the session would cost a round trip.
    """
    told = connection.get_settings()
    if "on" in (
        getattr(told, "in_hot_standby", "off"),
        getattr(told, "default_transaction_read_only", "off"),
    ):
        connection.terminate()


async def settle(source: Connection[Any] | Pool[Any]) -> None:
    """Return when what could be read before is as safe as an acknowledged commit.

    With a synchronous standby, a commit is acknowledged when the standby has it too. But it can be *seen* without: when
    the wait for the standby was cut short (by a cancelled statement, by a restart), the transaction stands, and is lost
    if the standby takes over now. Who only reads does not wait. So whoever tells somebody that a thing is done, because
    it was found to be done, first commits something behind it, and waits for that.

    Raises:
        OSError, asyncpg.PostgresError: nobody knows; as when a statement fails.
    """
    await source.execute(_SETTLE)


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
