"""The audit of a log, or of one match in it, over a connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from asyncpg import Connection

from services.cli.auditing.findings import LogFinding, Report
from services.cli.auditing.stream_walk import StreamWalk
from services.cli.auditing.tree_walk import walk_tree
from services.contracts.ids import DEFAULT_LOG, log_of
from services.engine.audit import Outage
from services.engine.rules.catalogue import Catalogue
from services.runtime.log.event_log import schema_of
from services.runtime.tree.outside import OutsideFile
from services.runtime.tree.store import TreeStore


async def audit_log(
    connection: Connection[Any],
    catalogue: Catalogue,
    report: Report,
    *,
    log: str = DEFAULT_LOG,
    home: Connection[Any] | None = None,
    outside: Path | None = None,
    keys: Mapping[str, bytes] | None = None,
    total: Callable[[int], None] = lambda _: None,
) -> None:
    """Walk through the whole log twice: by position, for the tree and what was signed; by stream, for the rest.

    Args:
        connection: reads the log; the application's rights are enough.
        catalogue: the rules, every version of them.
        report: takes the findings, and counts.
        log: which of several logs.
        home: reads the main database; None where the log lives there.
        outside: the directory with the checkpoints that are kept outside the database, if there is one.
        keys: the keys that may have signed, by id, known from elsewhere; None for those in the database.
        total: is told how many events will be read.
    """
    schema = schema_of(log)
    main = home or connection
    end: int = await connection.fetchval(f"SELECT coalesce(max(position), 0) FROM {schema}.events")  # noqa: S608 - no value in it
    total(2 * end)
    known = await _keys(main) if keys is None else keys
    file = None if outside is None else OutsideFile(outside, log)
    await walk_tree(connection, TreeStore(log, schema), end, file, known, report)
    await StreamWalk(connection, schema, end, catalogue, await _outages(main), report, home).walk()
    if log == DEFAULT_LOG:
        await _count_commitments(main, report)


async def audit_match(
    connection: Connection[Any],
    catalogue: Catalogue,
    match: str,
    report: Report,
    home: Connection[Any] | None = None,
) -> bool:
    """Look at one match as it stands in its log; say whether there is any. ``home`` is as in ``audit_log``."""
    outages = await _outages(home or connection)
    schema = schema_of(log_of(match))
    return await StreamWalk(connection, schema, (1 << 63) - 1, catalogue, outages, report, home).one(match)


async def _keys(connection: Connection[Any]) -> Mapping[str, bytes]:
    rows = await connection.fetch(
        "SELECT kid, public_key FROM macao_runtime.signing_keys WHERE purpose = 'record'"
    )
    return {row[0]: row[1] for row in rows}


async def _outages(connection: Connection[Any]) -> list[Outage]:
    rows = await connection.fetch("SELECT from_ms, to_ms FROM macao_engine.outages ORDER BY from_ms")
    return [(row[0], row[1]) for row in rows]


async def _count_commitments(connection: Connection[Any], report: Report) -> None:
    """See to it that the public numbers of commitments have no gap: none was dropped because it was disliked."""
    count, last = await connection.fetchrow(
        "SELECT count(*), coalesce(max(number), 0) FROM macao_engine.commitments"
    ) or (0, 0)
    if count != last:
        report.add(
            LogFinding("chance", f"of the {last} commitments that were published, {last - count} are gone")
        )
