"""The audit of everything that an installation has: each log where it lives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
from asyncpg import Connection

from services.cli.auditing.findings import Report
from services.cli.auditing.log_audit import audit_log, audit_match
from services.contracts.ids import DEFAULT_LOG, log_of
from services.engine.rules.catalogue import Catalogue
from services.runtime.database import take_role
from services.runtime.logs.adding import Sites, listed
from services.runtime.logs.servers import MAIN


async def audit_logs(
    home: Connection[Any],
    sites: Sites,
    catalogue: Catalogue,
    report: Report,
    *,
    outside: Path | None = None,
    keys: Mapping[str, bytes] | None = None,
    total: Callable[[int], None] = lambda _: None,
) -> None:
    """Walk through every log; the arguments are those of ``audit_log``, ``home`` reads the main database.

    Raises:
        LogsError: a log lives on a server that is not known or cannot be reached.
    """
    events = 0

    def add(more: int) -> None:
        nonlocal events
        events += more
        total(events)

    for name, server in (await _places(home)).items():
        async with _at(home, sites, server) as (connection, main):
            await audit_log(
                connection, catalogue, report, log=name, home=main, outside=outside, keys=keys, total=add
            )


async def audit_match_anywhere(
    home: Connection[Any], sites: Sites, catalogue: Catalogue, match: str, report: Report
) -> bool:
    """Look at one match in the log that its id names; say whether there is any.

    Raises:
        LogsError: as ``audit_logs``.
    """
    server = (await _places(home)).get(log_of(match))
    if server is None:
        return False
    async with _at(home, sites, server) as (connection, main):
        return await audit_match(connection, catalogue, match, report, main)


async def _places(home: Connection[Any]) -> dict[str, str]:
    """Return on which server each log lives; a database of before there could be several has one."""
    try:
        return {one.name: one.server for one in await listed(home)}
    except asyncpg.UndefinedTableError:
        return {DEFAULT_LOG: MAIN}


@asynccontextmanager
async def _at(
    home: Connection[Any], sites: Sites, server: str
) -> AsyncIterator[tuple[Connection[Any], Connection[Any] | None]]:
    """Give a connection to a server, and one to the main database where that is another."""
    if server == MAIN:
        yield home, None
        return
    connection = await sites.connect(server)
    try:
        await take_role(connection)
        yield connection, home
    finally:
        await connection.close()
