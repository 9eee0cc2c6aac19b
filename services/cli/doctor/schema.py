"""The schema: migrations, the application's rights, and the triggers that stand in the way of the owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import LivingLog, Patient, Server
from services.contracts.ids import DEFAULT_LOG
from services.runtime.logs.adding import sources_of
from services.runtime.logs.servers import MAIN
from services.runtime.migrate import APPLICATION_ROLE, Script, installed_sources

ANYTHING: Final = "INSERT, UPDATE, DELETE, TRUNCATE"
FORBIDDEN: Final = (
    ("macao_runtime.signing_keys", "UPDATE, DELETE, TRUNCATE"),
    ("macao_runtime.grants", ANYTHING),
    ("macao_runtime.logs", ANYTHING),
    ("macao_runtime.reading_order", "UPDATE, DELETE, TRUNCATE"),
)
"""What nobody but the owner may do in the main database."""
NEEDED: Final = (
    ("macao_log.subscriptions", "UPDATE"),
    ("macao_runtime.players", "INSERT"),
    ("macao_runtime.reading_order", "INSERT"),
)
FORBIDDEN_IN_LOGS: Final = (
    ("{log}.events", ANYTHING),
    ("{log}.commands", ANYTHING),
    ("{log}.streams", ANYTHING),
    ("{tree}.checkpoints", "UPDATE, DELETE, TRUNCATE"),
    ("{tree}.losses", ANYTHING),
)
"""The same in every log, wherever it lives."""
NEEDED_IN_LOGS: Final = (
    ("{log}.events", "SELECT"),
    ("{log}.streams", "SELECT"),
    ("{log}.commands", "SELECT"),
    ("{tree}.checkpoints", "INSERT"),
    ("{tree}.tiles", "INSERT"),
)
TRIGGERS: Final = (
    ("{log}.events", "append_only"),
    ("{log}.commands", "append_only"),
    ("{log}.streams", "never_removed"),
    ("{tree}.checkpoints", "append_only"),
    ("{tree}.losses", "append_only"),
)


async def migrations(patient: Patient) -> list[Finding]:
    """Every script was applied, in every log, with the text that it has here."""
    if not await _holds_ours(patient.connection):
        return [
            failure("migrations", "the database holds nothing of ours", "Run macao migrate, as the owner.")
        ]
    wanted = [script for source in installed_sources() for script in source.scripts]
    findings = await _applied(patient.connection, "", wanted)
    for one in await patient.logs():
        if one.name != DEFAULT_LOG:
            scripts = [script for source in sources_of(one.name) for script in source.scripts]
            findings += await _applied(one.connection, one.of, scripts)
    return findings


async def _applied(connection: Any, of: str, scripts: Iterable[Script]) -> list[Finding]:
    """Compare scripts with what was applied of their packages (``package@log`` of a log beside the main one)."""
    subject = f"migrations{of}"
    wanted = {(one.package, one.kind, one.name): one for one in scripts}
    logs = {package.partition("@")[2] for package, _, _ in wanted}
    rows = (
        await connection.fetch("SELECT package, kind, name, checksum FROM macao_migrations.applied")
        if await _holds_ours(connection)
        else []
    )
    applied = {
        (row["package"], row["kind"], row["name"]): row["checksum"]
        for row in rows
        if row["package"].partition("@")[2] in logs
    }
    missing = [one.label for key, one in wanted.items() if applied.get(key) != one.checksum]
    newer = ["/".join(key) for key in applied if key not in wanted and key[1] == "migration"]
    findings: list[Finding] = []
    if missing:
        findings.append(
            failure(
                subject, f"not applied as they are here: {_few(missing)}", "Run macao migrate, as the owner."
            )
        )
    if newer:
        findings.append(
            warning(
                subject, f"applied, but not part of this version: {_few(newer)}",
                "A newer version was here: start that one, or restore the backup from before it.",
            )
        )  # fmt: skip
    return findings or [well(subject, f"all {len(wanted)} scripts are applied")]


async def _holds_ours(connection: Any) -> bool:
    found: bool = await connection.fetchval("SELECT to_regclass('macao_migrations.applied') IS NOT NULL")
    return found


async def rights(patient: Patient) -> list[Finding]:
    """The application may do what it has to, and nothing to any log."""
    findings: list[Finding] = []
    roles: dict[str, bool] = {}
    for server in await patient.servers():
        roles[server.name] = await server.connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", APPLICATION_ROLE
        )
        if not roles[server.name]:
            findings.append(
                failure(
                    f"rights{server.of}",
                    f"there is no role {APPLICATION_ROLE}",
                    "Run macao migrate, as the owner.",
                )
            )
        elif patient.home is None:
            findings += await _powerful(server)
    if not roles[MAIN]:
        return findings
    wrong = await _held(patient.connection, "rights", FORBIDDEN)
    findings += wrong + await _lacking(patient.connection, "rights", NEEDED)
    for one in await patient.logs():
        if roles[one.server.name]:
            findings += await _rights_in(one)
    return findings or [
        well("rights", f"the application may append to {_all(await patient.logs())}, and change nothing")
    ]


async def _rights_in(one: LivingLog) -> list[Finding]:
    subject = f"rights{one.of}"
    forbidden = [(_named(table, one), what) for table, what in FORBIDDEN_IN_LOGS]
    needed = [(_named(table, one), what) for table, what in NEEDED_IN_LOGS]
    findings = await _held(one.connection, subject, forbidden)
    findings += await _lacking(one.connection, subject, needed)
    function = f"{one.schema}.append_many"
    appends = "SELECT has_function_privilege($1::name, to_regproc($2)::oid, 'EXECUTE')"
    if not await one.connection.fetchval(appends, APPLICATION_ROLE, function):
        findings.append(
            failure(
                subject, f"{APPLICATION_ROLE} may not append to the log {one.name}",
                f"Run macao migrate; if that changes nothing, GRANT EXECUTE ON FUNCTION {function}"
                f" TO {APPLICATION_ROLE};",
            )
        )  # fmt: skip
    return findings


async def _held(connection: Any, subject: str, forbidden: Iterable[tuple[str, str]]) -> list[Finding]:
    """Name what somebody may do and should not."""
    findings: list[Finding] = []
    for table, privileges in forbidden:
        for role in (APPLICATION_ROLE, "public"):
            held = [one for one in privileges.split(", ") if await _has(connection, role, table, one)]
            if held:
                findings.append(
                    failure(
                        subject, f"{role} holds {', '.join(held)} on {table}",
                        f"REVOKE {', '.join(held)} ON {table} FROM {role}; and find out who granted it.",
                    )
                )  # fmt: skip
    return findings


async def _lacking(connection: Any, subject: str, needed: Iterable[tuple[str, str]]) -> list[Finding]:
    """Name what the application has to do and may not."""
    return [
        failure(
            subject, f"{APPLICATION_ROLE} lacks {privilege} on {table}",
            f"GRANT {privilege} ON {table} TO {APPLICATION_ROLE};",
        )
        for table, privilege in needed
        if not await _has(connection, APPLICATION_ROLE, table, privilege)
    ]  # fmt: skip


async def _powerful(server: Server) -> list[Finding]:
    rows = await server.connection.fetch(
        "SELECT r.rolname FROM pg_roles AS r JOIN pg_stat_activity AS a ON a.usename = r.rolname"
        " WHERE r.rolsuper AND a.application_name LIKE 'macao%' AND a.pid <> pg_backend_pid()"
        " AND a.datname = current_database()"
        " GROUP BY 1"
    )
    if not rows:
        return []
    return [
        warning(
            f"rights{server.of}", f"services are logged in as {rows[0][0]}, who may do anything",
            "Give them a login under macao_app: deploy/sql/logins.sql.",
        )
    ]  # fmt: skip


async def triggers(patient: Patient) -> list[Finding]:
    """Nobody, the owner included, changes a log by an ordinary statement."""
    findings: list[Finding] = []
    for one in await patient.logs():
        rows = await one.connection.fetch(
            "SELECT format('%s.%s', n.nspname, c.relname) AS on, t.tgname AS name, t.tgenabled::text AS enabled"
            " FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
            " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        )
        enabled = {(row["on"], row["name"]): row["enabled"] for row in rows}
        wanted = [(_named(table, one), name) for table, name in TRIGGERS]
        gone = [f"{name} on {table}" for table, name in wanted if enabled.get((table, name)) != "A"]
        if gone:
            findings.append(
                failure(
                    f"triggers{one.of}", f"missing, or not always on: {', '.join(gone)}",
                    "Find out who took them away, run macao audit --all, then ALTER TABLE … ENABLE ALWAYS TRIGGER …",
                )
            )  # fmt: skip
    return findings or [
        well("triggers", f"{_all(await patient.logs())} refuses changes, by the owner as well")
    ]


async def _has(connection: Any, role: str, table: str, privilege: str) -> bool:
    if await connection.fetchval("SELECT to_regclass($1) IS NULL", table):
        return False
    held: bool = await connection.fetchval(
        "SELECT has_table_privilege($1::name, $2, $3)", role, table, privilege
    )
    return held


def _named(table: str, one: LivingLog) -> str:
    return table.format(log=one.schema, tree=one.tree)


def _all(logs: list[LivingLog]) -> str:
    return "the log" if len(logs) == 1 else f"each of {len(logs)} logs"


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"  # noqa: PLR2004 - as many as are read at a glance
