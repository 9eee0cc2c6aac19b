"""Bringing logs into being, and their schemas up to date: what the owner of the databases does.

A log's schema is made from the very SQL of the main log, with its own name in the place of the main one's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from services.contracts.ids import DEFAULT_LOG
from services.runtime.log.event_log import schema_of
from services.runtime.log.partitions import checked, partition
from services.runtime.logs.servers import MAIN
from services.runtime.migrate import Script, Source, installed_sources, migrate
from services.runtime.tree.store import tree_schema_of

PACKAGES: Final = ("log", "tree")
"""Of which the schema of a log consists."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,31}")


class LogsError(Exception):
    """It cannot be done; the message says why, and what to do."""


class Listed(Struct, frozen=True):
    """A log as the list has it."""

    name: str
    server: str
    opens: bool
    moves: int


class Sites:
    """Where the servers are, for their owner.

    Args:
        main: the URL of the main database.
        servers: URLs of the others, by name.
    """

    def __init__(self, main: str, servers: Mapping[str, str]) -> None:
        self._urls: Final = {MAIN: main, **servers}

    def url(self, server: str) -> str:
        """Return the URL of a server.

        Raises:
            LogsError: none of this name is known.
        """
        if server not in self._urls:
            known = ", ".join(self._urls)
            raise LogsError(f"MACAO_LOG_SERVERS does not name a server {server}; known are {known}")
        return self._urls[server]

    async def connect(self, server: str) -> Connection[Any]:
        """Connect as the owner.

        Raises:
            LogsError: the server is not known, or cannot be reached.
        """
        try:
            return await asyncpg.connect(self.url(server))
        except (OSError, asyncpg.PostgresError) as error:
            raise LogsError(f"the server {server} cannot be reached: {error}") from error


async def listed(main: Connection[Any]) -> list[Listed]:
    """Return all logs, the main one first."""
    rows = await main.fetch(
        "SELECT name, server, opens, moves FROM macao_runtime.logs ORDER BY name <> 'main', name"
    )
    return [Listed(*row) for row in rows]


async def one_listed(main: Connection[Any], name: str) -> Listed:
    """Return one log.

    Raises:
        LogsError: there is none of this name.
    """
    known = await listed(main)
    for one in known:
        if one.name == name:
            return one
    raise LogsError(f"there is no log {name}; there are {', '.join(log.name for log in known)}")


async def where_is(sites: Sites, name: str) -> str | None:
    """Name the server that a log lives on, None where there is no such log.

    Raises:
        LogsError: the main database cannot be reached.
    """
    main = await sites.connect(MAIN)
    try:
        return next((one.server for one in await listed(main) if one.name == name), None)
    finally:
        await main.close()


async def migrate_log(url: str, log: str) -> list[str]:
    """Bring the schema of a log to the present; return what was applied.

    Raises:
        MigrationError: see ``migrate``.
    """
    return await migrate(url, sources_of(log))


async def cut(url: str, log: str, partitions: int) -> bool:
    """Cut the events of a log that has none yet into partitions; say whether that was to do.

    Raises:
        PartitionError: see ``partition``.
    """
    connection = await asyncpg.connect(url)
    try:
        return await partition(connection, schema_of(log), partitions)
    finally:
        await connection.close()


async def migrate_others(sites: Sites) -> list[str]:
    """Bring the schemas of all logs but the main one to the present.

    Raises:
        LogsError, MigrationError
    """
    main = await sites.connect(MAIN)
    try:
        logs = [one for one in await listed(main) if one.name != DEFAULT_LOG]
    finally:
        await main.close()
    done: list[str] = []
    for one in logs:
        done += await migrate_log(sites.url(one.server), one.name)
    return done


def sources_of(log: str) -> Sequence[Source]:
    """Return the SQL that makes the schemas of a log."""
    return [_renamed(source, log) for source in installed_sources() if source.name in PACKAGES]


async def add_log(sites: Sites, name: str, server: str, partitions: int | None = None) -> None:
    """Make a new log on a server, and have matches begin in it.

    Args:
        sites: where the servers are.
        name: the log's, which stands in the ids of its matches.
        server: where it will live.
        partitions: into how many its events are cut; None: they lie in one table.

    Raises:
        LogsError: the name is taken or is none.
        MigrationError: its schema cannot be made, or not cut like that.
    """
    if partitions is not None:
        checked(partitions)
    if _NAME.fullmatch(name) is None:
        raise LogsError(f"{name!r} is no name for a log: up to 32 small letters and digits, a letter first")
    main = await sites.connect(MAIN)
    try:
        if any(one.name == name for one in await listed(main)):
            raise LogsError(f"there is a log {name} already")
        target = await sites.connect(server)
        try:
            if await target.fetchval(f"SELECT to_regclass('{schema_of(name)}.events') IS NOT NULL") and (
                await target.fetchval(f"SELECT EXISTS (SELECT FROM {schema_of(name)}.events)")  # noqa: S608 - our name
            ):
                raise LogsError(
                    f"on {server} lie events of a log {name} already: another name, or another database"
                )
        finally:
            await target.close()
        await migrate_log(sites.url(server), name)
        if partitions is not None:
            await cut(sites.url(server), name, partitions)
        async with main.transaction():
            # What is appended to the main log waits for a moment: up to here its own order is the reading order, and
            # from here on it has its place in it.
            await main.execute(
                "SELECT pg_advisory_xact_lock($1, 'macao_log.events'::regclass::oid::integer)", LOCK
            )
            await main.execute(_FIRST_STRETCH)
            await main.execute("INSERT INTO macao_runtime.logs (name, server) VALUES ($1, $2)", name, server)
    finally:
        await main.close()


async def let_open(sites: Sites, name: str, *, opens: bool) -> None:
    """Say whether new matches begin in a log.

    Raises:
        LogsError: there is no such log, or none would be left.
    """
    main = await sites.connect(MAIN)
    try:
        async with main.transaction():
            await main.execute("LOCK TABLE macao_runtime.logs IN SHARE ROW EXCLUSIVE MODE")
            await one_listed(main, name)
            await main.execute("UPDATE macao_runtime.logs SET opens = $2 WHERE name = $1", name, opens)
            if not any(one.opens for one in await listed(main)):
                raise LogsError(
                    f"new matches have to begin somewhere, and {name} is the last log that is open"
                )
    finally:
        await main.close()


LOCK: Final = 1296122703
"""The first half of the key under which ``append_many`` numbers; a test holds it against the function."""

_FIRST_STRETCH: Final = """
INSERT INTO macao_runtime.reading_order (position, log, log_position, events, hash)
SELECT position, 'main', position, position, hash FROM macao_log.events
WHERE NOT EXISTS (SELECT FROM macao_runtime.reading_order)
    AND NOT EXISTS (SELECT FROM macao_runtime.logs WHERE name <> 'main')
ORDER BY position DESC LIMIT 1
"""


def _renamed(source: Source, log: str) -> Source:
    names = {schema_of(DEFAULT_LOG): schema_of(log), tree_schema_of(DEFAULT_LOG): tree_schema_of(log)}
    pattern = re.compile("|".join(rf"\b{name}\b" for name in names))
    scripts = [
        Script(
            f"{script.package}@{log}",
            script.kind,
            script.name,
            pattern.sub(lambda found: names[found[0]], script.text),
        )
        for script in source.scripts
    ]
    return Source(f"{source.name}@{log}", tuple(scripts))
