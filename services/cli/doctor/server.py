"""PostgreSQL itself: its version, and settings on which what was acknowledged depends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient

MAJOR_MIN: Final = 15
NAMES: Final = (
    "server_version_num", "server_version", "fsync", "full_page_writes", "synchronous_commit", "server_encoding",
    "max_connections", "data_checksums", "transaction_read_only",
)  # fmt: skip
CONNECTIONS_SPARE_MIN: Final = 0.1

Look = Callable[[Any], Awaitable[list[Finding]]]
"""Looks at one server, by a connection to it."""


async def version(patient: Patient) -> list[Finding]:
    """Every PostgreSQL is new enough, and writable."""
    return await _at_each(patient, _version)


async def durability(patient: Patient) -> list[Finding]:
    """What was acknowledged is on disk."""
    return await _at_each(patient, _durability)


async def connections(patient: Patient) -> list[Finding]:
    """There are connections left."""
    return await _at_each(patient, _connections)


async def _at_each(patient: Patient, look: Look) -> list[Finding]:
    """Look at every server on which a log lives."""
    findings: list[Finding] = []
    for server in await patient.servers():
        found = await look(server.connection)
        findings += [replace(one, subject=f"{one.subject}{server.of}") for one in found]
    return findings


async def _version(connection: Any) -> list[Finding]:
    found = await _settings(connection)
    if int(found["server_version_num"]) // 10_000 < MAJOR_MIN:
        return [
            failure(
                "PostgreSQL", f"version {found['server_version']}",
                f"Move to PostgreSQL {MAJOR_MIN} or newer: dump, restore, macao migrate.",
            )
        ]  # fmt: skip
    if found["transaction_read_only"] == "on":
        return [
            failure(
                "PostgreSQL", "this server takes no writes: it is a standby, or set to read only",
                "Let MACAO_DATABASE_URL (MACAO_LOG_SERVERS) name the primary.",
            )
        ]  # fmt: skip
    if found["server_encoding"] != "UTF8":
        return [
            failure(
                "PostgreSQL", f"the database is encoded as {found['server_encoding']}",
                "Make a database with ENCODING 'UTF8', and move there by dump and restore.",
            )
        ]  # fmt: skip
    return [well("PostgreSQL", f"version {found['server_version']}, takes writes")]


async def _durability(connection: Any) -> list[Finding]:
    found = await _settings(connection)
    bad = [name for name in ("fsync", "full_page_writes") if found[name] != "on"]
    if found["synchronous_commit"] in {"off", "local"}:
        bad.append("synchronous_commit")
    findings = [
        failure(
            "durability", f"{name} is {found[name]}: a crash loses moves that were acknowledged",
            f"ALTER SYSTEM SET {name} = on; and reload. Look also at ALTER ROLE and ALTER DATABASE … SET.",
        )
        for name in bad
    ]  # fmt: skip
    if found["data_checksums"] != "on":
        findings.append(
            warning(
                "durability", "pages of the database have no checksums: a disk that rots is not noticed",
                "Stop the server, run pg_checksums --enable, start it.",
            )
        )  # fmt: skip
    return findings or [well("durability", "commits wait for the disk, pages have checksums")]


async def _connections(connection: Any) -> list[Finding]:
    limit = int((await _settings(connection))["max_connections"])
    used: int = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    )
    said = f"{used} of {limit} connections are in use"
    if limit - used < limit * CONNECTIONS_SPARE_MIN:
        return [
            warning(
                "connections", said,
                "Raise max_connections, or lower MACAO_DATABASE_POOL_MAX: docs/operations.md adds them up.",
            )
        ]  # fmt: skip
    return [well("connections", said)]


async def _settings(connection: Any) -> Mapping[str, str]:
    rows = await connection.fetch(
        "SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[])", list(NAMES)
    )
    return {row["name"]: row["setting"] for row in rows}
