"""A pool of connections whose callers wait for one in good measure: asyncpg's own lets them wait for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import asyncpg
from asyncpg.pool import PoolAcquireContext

if TYPE_CHECKING:
    from asyncpg import Connection, Pool

    _Connection = Connection[Any]
    _Pool = Pool[Any]
else:
    _Connection = asyncpg.Connection
    _Pool = asyncpg.Pool

ACQUIRE_SECONDS: Final = 5.0
"""How long a caller waits for a connection while all are in use; then it is told that the service is unavailable."""

QUERIES_MAX: Final = 50_000
IDLE_SECONDS_MAX: Final = 300.0


class SteadyConnection(_Connection):
    """A connection that says that it was ended, whenever that was.

    ``Hosts`` ends connections that lead to a server which is no primary any more, whatever they are doing. In between
    two answers of one query the driver then finds itself without a protocol, and says so by an ``AttributeError``.
    """

    async def _execute(self, *arguments: Any, **options: Any) -> Any:
        try:
            return await super()._execute(*arguments, **options)  # type: ignore[misc]  # not in the stubs
        except AttributeError as error:
            if self.is_closed():
                raise asyncpg.ConnectionDoesNotExistError("the connection was ended meanwhile") from error
            raise


class PatientPool(_Pool):
    """A pool that says so when it has run dry.

    ``acquire``, and with it ``fetch`` and its like, raise ``TimeoutError``, which stands for a database that is away.
    """

    def acquire(self, *, timeout: float | None = None) -> PoolAcquireContext[Any]:
        """Return a connection as soon as one is free."""
        return super().acquire(timeout=ACQUIRE_SECONDS if timeout is None else timeout)


async def open_pool(url: str, **options: Any) -> PatientPool:
    """Open a pool; the options are those of ``asyncpg.create_pool``.

    Raises:
        OSError, asyncpg.PostgresError: the server cannot be reached or lets nobody in.
    """
    given: dict[str, Any] = {
        "max_queries": QUERIES_MAX,
        "max_inactive_connection_lifetime": IDLE_SECONDS_MAX,
        "connect": None,
        "setup": None,
        "loop": None,
        "connection_class": SteadyConnection,
        "record_class": asyncpg.Record,
        **options,
    }
    return await PatientPool(url, **given)
