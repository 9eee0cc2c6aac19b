"""The schema: migrations, the application's rights, and the triggers that stand in the way of the owner."""

from __future__ import annotations

from typing import Final

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.runtime.migrate import APPLICATION_ROLE, installed_sources

FORBIDDEN: Final = (
    ("macao_log.events", "INSERT, UPDATE, DELETE, TRUNCATE"),
    ("macao_log.commands", "INSERT, UPDATE, DELETE, TRUNCATE"),
    ("macao_log.streams", "INSERT, UPDATE, DELETE, TRUNCATE"),
    ("macao_tree.checkpoints", "UPDATE, DELETE, TRUNCATE"),
    ("macao_runtime.signing_keys", "UPDATE, DELETE, TRUNCATE"),
    ("macao_runtime.grants", "INSERT, UPDATE, DELETE, TRUNCATE"),
)
NEEDED: Final = (
    ("macao_log.events", "SELECT"),
    ("macao_log.streams", "SELECT"),
    ("macao_log.commands", "SELECT"),
    ("macao_log.subscriptions", "UPDATE"),
    ("macao_runtime.players", "INSERT"),
)
TRIGGERS: Final = (
    ("macao_log.events", "append_only"),
    ("macao_log.commands", "append_only"),
    ("macao_log.streams", "never_removed"),
    ("macao_tree.checkpoints", "append_only"),
)


async def migrations(patient: Patient) -> list[Finding]:
    """Every script was applied, with the text that it has here."""
    if await patient.value("SELECT to_regclass('macao_migrations.applied') IS NULL"):
        return [
            failure("migrations", "the database holds nothing of ours", "Run macao migrate, as the owner.")
        ]
    rows = await patient.rows("SELECT package, kind, name, checksum FROM macao_migrations.applied")
    applied = {(row["package"], row["kind"], row["name"]): row["checksum"] for row in rows}
    wanted = {
        (one.package, one.kind, one.name): one for source in installed_sources() for one in source.scripts
    }
    missing = [one.label for key, one in wanted.items() if applied.get(key) != one.checksum]
    newer = ["/".join(key) for key in applied if key not in wanted and key[1] == "migration"]
    findings: list[Finding] = []
    if missing:
        findings.append(
            failure(
                "migrations",
                f"not applied as they are here: {_few(missing)}",
                "Run macao migrate, as the owner.",
            )
        )
    if newer:
        findings.append(
            warning(
                "migrations", f"applied, but not part of this version: {_few(newer)}",
                "A newer version was here: start that one, or restore the backup from before it.",
            )
        )  # fmt: skip
    return findings or [well("migrations", f"all {len(wanted)} scripts are applied")]


async def rights(patient: Patient) -> list[Finding]:
    """The application may do what it has to, and nothing to the log."""
    if not await patient.value("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", APPLICATION_ROLE):
        return [failure("rights", f"there is no role {APPLICATION_ROLE}", "Run macao migrate, as the owner.")]
    findings: list[Finding] = []
    for table, privileges in FORBIDDEN:
        for role in (APPLICATION_ROLE, "public"):
            held = [one for one in privileges.split(", ") if await _has(patient, role, table, one)]
            if held:
                findings.append(
                    failure(
                        "rights", f"{role} holds {', '.join(held)} on {table}",
                        f"REVOKE {', '.join(held)} ON {table} FROM {role}; and find out who granted it.",
                    )
                )  # fmt: skip
    for table, privilege in NEEDED:
        if not await _has(patient, APPLICATION_ROLE, table, privilege):
            findings.append(
                failure(
                    "rights", f"{APPLICATION_ROLE} lacks {privilege} on {table}",
                    f"GRANT {privilege} ON {table} TO {APPLICATION_ROLE};",
                )
            )  # fmt: skip
    appends = "SELECT has_function_privilege($1, p.oid, 'EXECUTE') FROM pg_proc AS p WHERE p.proname = 'append_many'"
    if not all([row[0] for row in await patient.rows(appends, APPLICATION_ROLE)] or [False]):
        findings.append(
            failure(
                "rights", f"{APPLICATION_ROLE} may not append to the log",
                "Run macao migrate; if that changes nothing, GRANT EXECUTE on macao_log.append_many.",
            )
        )  # fmt: skip
    powerful = await patient.rows(
        "SELECT r.rolname FROM pg_roles AS r JOIN pg_stat_activity AS a ON a.usename = r.rolname"
        " WHERE r.rolsuper AND a.application_name LIKE 'macao%' AND a.pid <> pg_backend_pid()"
        " AND a.datname = current_database()"
        " GROUP BY 1"
    )
    if powerful and patient.home is None:
        findings.append(
            warning(
                "rights", f"services are logged in as {powerful[0][0]}, who may do anything",
                "Give them a login under macao_app: deploy/sql/logins.sql.",
            )
        )  # fmt: skip
    return findings or [well("rights", "the application may append to the log, and change nothing in it")]


async def triggers(patient: Patient) -> list[Finding]:
    """Nobody, the owner included, changes the log by an ordinary statement."""
    rows = await patient.rows(
        "SELECT format('%s.%s', n.nspname, c.relname) AS on, t.tgname AS name, t.tgenabled::text AS enabled"
        " FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    )
    enabled = {(row["on"], row["name"]): row["enabled"] for row in rows}
    gone = [f"{name} on {table}" for table, name in TRIGGERS if enabled.get((table, name)) != "A"]
    if gone:
        return [
            failure(
                "triggers", f"missing, or not always on: {', '.join(gone)}",
                "Find out who took them away, run macao audit --all, then ALTER TABLE … ENABLE ALWAYS TRIGGER …",
            )
        ]  # fmt: skip
    return [well("triggers", "the log refuses changes, by the owner as well")]


async def _has(patient: Patient, role: str, table: str, privilege: str) -> bool:
    if await patient.value("SELECT to_regclass($1) IS NULL", table):
        return False
    held: bool = await patient.value("SELECT has_table_privilege($1::name, $2, $3)", role, table, privilege)
    return held


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"  # noqa: PLR2004 - as many as are read at a glance
