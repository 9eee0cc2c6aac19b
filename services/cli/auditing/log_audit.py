"""The audit of a log, or of one match in it, over a connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from asyncpg import Connection

from services.cli.auditing.findings import LogFinding, Report
from services.cli.auditing.stream_walk import StreamWalk
from services.cli.auditing.tree_walk import walk_tree
from services.contracts.ids import DEFAULT_LOG
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
    outside: Path | None = None,
    keys: Mapping[str, bytes] | None = None,
    total: Callable[[int], None] = lambda _: None,
) -> None:
    """Walk through the whole log twice: by position, for the tree and what was signed; by stream, for the rest.

    Args:
        connection: reads the log; the application's rights are enough.
        catalogue: the rules, every version of them.
        report: takes the findings, and counts.
        outside: the directory with the checkpoints that are kept outside the database, if there is one.
        keys: the keys that may have signed, by id, known from elsewhere; None for those in the database.
        total: is told how many events will be read.
    """
    schema = schema_of(DEFAULT_LOG)
    end: int = await connection.fetchval(f"SELECT coalesce(max(position), 0) FROM {schema}.events")  # noqa: S608 - no value in it
    total(2 * end)
    known = await _keys(connection) if keys is None else keys
    file = None if outside is None else OutsideFile(outside, DEFAULT_LOG)
    await walk_tree(connection, TreeStore(DEFAULT_LOG, schema), end, file, known, report)
    await StreamWalk(connection, schema, end, catalogue, await _outages(connection), report).walk()
    await _count_commitments(connection, report)


async def audit_match(connection: Connection[Any], catalogue: Catalogue, match: str, report: Report) -> bool:
    """Look at one match as it stands in the log; say whether there is any."""
    schema = schema_of(DEFAULT_LOG)
    outages = await _outages(connection)
    return await StreamWalk(connection, schema, (1 << 63) - 1, catalogue, outages, report).one(match)


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
