"""Partitions of the events: all of them are there, and each is as closed as the table (docs/adr/0017)."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.runtime.log import EventLog
from services.runtime.migrate import APPLICATION_ROLE

TRIGGERS: Final = frozenset({"append_only", "by_the_table"})
TABLE_TRIGGER: Final = "numbered"
FORBIDDEN: Final = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")

_BOUND: Final = re.compile(r"modulus (\d+), remainder (\d+)")

_ALWAYS_ON: Final = (
    "SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1::text::regclass AND tgenabled = 'A'"
)

_PARTS: Final = """
SELECT
    c.relname AS name,
    pg_get_expr(c.relpartbound, c.oid) AS bound,
    ARRAY (SELECT t.tgname::text FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgenabled = 'A') AS triggers,
    EXISTS (
        SELECT FROM pg_index AS x JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
        WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid AND x.indnkeyatts = 1 AND a.attname = 'position'
    ) AS keyed,
    ARRAY (
        SELECT format('%s holds %s', r.role, p.privilege)
        FROM unnest($2::text[]) AS r (role), unnest($3::text[]) AS p (privilege)
        WHERE has_table_privilege(r.role::name, c.oid, p.privilege)
    ) AS held
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = $1::text::regclass AND NOT i.inhdetachpending
ORDER BY c.relname
"""


class Part(Struct, frozen=True):
    """One partition as it is found."""

    name: str
    bound: str
    triggers: list[str]
    keyed: bool
    held: list[str]

    @property
    def share(self) -> tuple[int, int]:
        """Of the hash: modulus and remainder."""
        found = _BOUND.search(self.bound)
        if found is None:
            raise ValueError(f"{self.name} is no partition by a hash: {self.bound}")
        return int(found[1]), int(found[2])


async def partitions(patient: Patient) -> list[Finding]:
    """No partition is missing, and nobody writes to one."""
    findings: list[Finding] = []
    for one in await patient.logs():
        found = await _partitions(one.connection, one.log)
        findings += [replace(each, subject=f"{each.subject}{one.of}") for each in found]
    return findings


async def _partitions(connection: Any, log: EventLog) -> list[Finding]:
    table = f"{log.schema}.events"
    if await connection.fetchval("SELECT relkind <> 'p' FROM pg_class WHERE oid = $1::text::regclass", table):
        return [well("partitions", f"{table} is one table")]
    rows = await connection.fetch(_PARTS, table, [APPLICATION_ROLE, "public"], FORBIDDEN)
    parts = [Part(*row) for row in rows]
    on = [row[0] for row in await connection.fetch(_ALWAYS_ON, table)]
    findings = [*_complete(log, parts)]
    if TABLE_TRIGGER not in on:
        findings.append(_untriggered([f"{TABLE_TRIGGER} on {table}"]))
    gone = [
        f"{name} on {log.schema}.{part.name}"
        for part in parts
        for name in sorted(TRIGGERS - {*part.triggers})
    ]
    if gone:
        findings.append(_untriggered(gone))
    for part in parts:
        findings += [
            failure(
                "partitions", f"{held} on {log.schema}.{part.name}",
                f"REVOKE ALL ON {log.schema}.{part.name} FROM {held.split()[0]}; and find out who granted it.",
            )
            for held in part.held
        ]  # fmt: skip
    findings += await _room_for_locks(connection, table, len(parts))
    keyless = [part.name for part in parts if not part.keyed]
    if keyless:
        findings.append(
            failure(
                "partitions", f"no key over positions on {', '.join(keyless[:3])} of {log.schema}",
                f"ALTER TABLE {log.schema}.{keyless[0]} ADD PRIMARY KEY (position); run macao audit --all.",
            )
        )  # fmt: skip
    return findings or [well("partitions", f"all {len(parts)} of {table} are there, and closed")]


async def _room_for_locks(connection: Any, table: str, parts: int) -> list[Finding]:
    """See to it that the server has room for the locks of who reads by position: each partition, and an index of it."""
    room = int(await connection.fetchval("SELECT current_setting('max_locks_per_transaction')"))
    if 2 * parts <= room:
        return []
    return [
        warning(
            "partitions", f"{parts} of {table} are more than max_locks_per_transaction = {room} has room for",
            f"ALTER SYSTEM SET max_locks_per_transaction = {2 * parts}; and restart PostgreSQL, standbys first.",
        )
    ]  # fmt: skip


def _complete(log: EventLog, parts: list[Part]) -> list[Finding]:
    """See to it that the parts make a whole."""
    shares = [part.share for part in parts]
    if sum(Fraction(1, modulus) for modulus, _ in shares) == 1:
        return []
    modulus = max((modulus for modulus, _ in shares), default=0)
    missing = sorted({*range(modulus)} - {remainder for each, remainder in shares if each == modulus})
    named = f" (of modulus {modulus} the remainders {', '.join(map(str, missing[:3]))})" if missing else ""
    return [
        failure(
            "partitions", f"a part of {log.schema}.events was taken out of it{named}",
            f"Stop writing. Put it back, as ALTER TABLE {log.schema}.events ATTACH PARTITION {log.schema}.events_… "
            "FOR VALUES WITH (MODULUS …, REMAINDER …), run macao audit --all, and find out who took it.",
        )
    ]  # fmt: skip


def _untriggered(gone: list[str]) -> Finding:
    more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""  # noqa: PLR2004 - as many as are read at a glance
    return failure(
        "partitions", f"missing, or not always on: {', '.join(gone[:3])}{more}",
        "Find out who took them away, run macao audit --all, then ALTER TABLE … ENABLE ALWAYS TRIGGER …",
    )  # fmt: skip
