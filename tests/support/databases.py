"""A fresh database for every test that asks: a copy of one that was migrated once."""

import itertools
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from services.contracts.ids import DEFAULT_LOG
from services.runtime.logs.adding import cut
from services.runtime.migrate import migrate

PARTITIONS = int(os.environ.get("MACAO_TEST_PARTITIONS", "0")) or None
"""Into how many partitions the events of the tests' logs are cut; None: they lie in one table, as by default."""


async def migrated(url: str, partitions: int | None = PARTITIONS) -> None:
    """Bring a fresh database to the present schema, in the shape that this run is about."""
    await migrate(url)
    if partitions is not None:
        await cut(url, DEFAULT_LOG, partitions)


class Databases:
    """Databases on one server, each a copy of a template. Copying takes some 30 ms, migrating many times that.

    Args:
        postgres_url: a URL with which databases can be made and dropped.
        migrate: brings a database to the present schema, given its URL.
    """

    def __init__(self, postgres_url: str, migrate: Callable[[str], Coroutine[Any, Any, object]]) -> None:
        self._postgres_url = postgres_url
        self._migrate = migrate
        self._prefix = f"macao_test_{os.getpid()}"
        self._numbers = itertools.count(1)

    async def make_template(self) -> None:
        """Migrate the database that the others are copied from."""
        await self._execute(f"DROP DATABASE IF EXISTS {self._prefix}", f"CREATE DATABASE {self._prefix}")
        await self._migrate(self.url_of(self._prefix))

    async def drop_template(self) -> None:
        """Leave nothing behind on a server that somebody else runs."""
        await self._execute(f"DROP DATABASE IF EXISTS {self._prefix} WITH (FORCE)")

    @asynccontextmanager
    async def fresh(self, partitions: int | None = None) -> AsyncIterator[str]:
        """Give the URL of a new copy, dropped at the end however the test went.

        Args:
            partitions: into how many its events are cut; None: as in the template.
        """
        name = f"{self._prefix}_{next(self._numbers)}"
        await self._execute(f"CREATE DATABASE {name} TEMPLATE {self._prefix}")
        try:
            if partitions is not None:
                await cut(self.url_of(name), DEFAULT_LOG, partitions)
            yield self.url_of(name)
        finally:
            await self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def url_of(self, name: str) -> str:
        """Return the URL of one database on the server."""
        return urlunsplit(urlsplit(self._postgres_url)._replace(path=f"/{name}"))

    async def _execute(self, *statements: str) -> None:
        connection = await asyncpg.connect(self._postgres_url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()
