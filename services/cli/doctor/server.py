"""PostgreSQL itself: its version, and settings on which what was acknowledged depends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient

MAJOR_MIN: Final = 15
NAMES: Final = (
    "server_version_num", "server_version", "fsync", "full_page_writes", "synchronous_commit", "server_encoding",
    "max_connections", "data_checksums", "transaction_read_only",
)  # fmt: skip
CONNECTIONS_SPARE_MIN: Final = 0.1


async def version(patient: Patient) -> list[Finding]:
    """PostgreSQL is new enough, and writable."""
    found = await _settings(patient)
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
                "Let MACAO_DATABASE_URL name the primary.",
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


async def durability(patient: Patient) -> list[Finding]:
    """What was acknowledged is on disk."""
    found = await _settings(patient)
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


async def connections(patient: Patient) -> list[Finding]:
    """There are connections left."""
    limit = int((await _settings(patient))["max_connections"])
    used: int = await patient.value(
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


async def _settings(patient: Patient) -> Mapping[str, str]:
    rows = await patient.rows(
        "SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[])", list(NAMES)
    )
    return {row["name"]: row["setting"] for row in rows}
