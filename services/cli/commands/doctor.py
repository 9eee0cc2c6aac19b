"""``macao doctor``: look at a deployment from every side, and say what to do about what is found."""

import argparse
import asyncio
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from services.cli.doctor.finding import Finding

NAME: Final = "doctor"
HELP: Final = "look at a deployment from every side, and say what to do"
PASSES_ON: Final = False

MARKS: Final = {"ok": "ok", "warning": "warning", "failure": "FAILURE"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="one finding a line, as JSON")
    parser.add_argument("--server", metavar="URL", help="a service to be asked as well (MACAO_SERVER)")
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Look, with the settings that the services have; 1 if there is a failure, 0 with warnings or none."""
    findings = asyncio.run(_found(args.database, args.server or os.environ.get("MACAO_SERVER") or ""))
    if args.json:
        import msgspec

        for finding in findings:
            print(msgspec.json.encode(finding).decode())
    else:
        _show(findings)
    return 1 if any(finding.level == "failure" for finding in findings) else 0


async def _found(database: str | None, server: str) -> "list[Finding]":
    import asyncpg

    from services.cli.deployment import deployment
    from services.cli.doctor.examining import examine
    from services.cli.doctor.finding import failure
    from services.cli.doctor.patient import Patient
    from services.runtime.settings import Settings, SettingsError

    environment, home, address = deployment(database)
    if database:
        environment = {**environment, "MACAO_DATABASE_DIRECT_URL": ""}
    try:
        settings = Settings.from_environment(environment)
    except SettingsError as error:
        return [
            failure(
                "settings",
                f"{error}",
                "See docs/settings.md; run this with the variables that the services have.",
            )
        ]
    try:
        # Past a pooler, where there is one: some of what is looked at is of a session.
        url = settings.database_direct_url or settings.database_url
        connection = await asyncpg.connect(url, timeout=10, command_timeout=60)
    except (OSError, asyncpg.PostgresError, ValueError) as error:
        return [
            failure(
                "PostgreSQL", f"it cannot be reached: {error!r}",
                "Is it up, does MACAO_DATABASE_URL name it, does it let this login in?",
            )
        ]  # fmt: skip
    try:
        return await examine(Patient(settings, connection, home, (server or address).rstrip("/")))
    finally:
        await connection.close()


def _show(findings: "list[Finding]") -> None:
    for finding in findings:
        print(f"{MARKS[finding.level]:<8} {finding.subject}: {finding.said}")
        if finding.advice:
            print(f"         {finding.advice}")
    failures = sum(finding.level == "failure" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    print(f"\n{failures} failures, {warnings} warnings, {len(findings) - failures - warnings} well")
