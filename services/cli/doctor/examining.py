"""All checks, one after the other; what cannot be looked at is a finding, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg

from services.cli.doctor import around, readers, schema, secret_keys, server, truth
from services.cli.doctor.finding import Finding, failure
from services.cli.doctor.patient import Patient

Check = Callable[[Patient], Awaitable[list[Finding]]]

CHECKS: Final[tuple[Check, ...]] = (
    server.version, server.durability, server.connections,
    schema.migrations, schema.rights, schema.triggers,
    secret_keys.secret_keys, secret_keys.signing_keys,
    truth.numbering, truth.chains, truth.checkpoints,
    readers.subscriptions,
    around.bell, around.clocks, around.disks, around.services,
)  # fmt: skip


async def examine(patient: Patient) -> list[Finding]:
    """Return what was found, in the order of the checks."""
    findings: list[Finding] = []
    for check in CHECKS:
        try:
            findings += await check(patient)
        except (
            asyncpg.UndefinedTableError,
            asyncpg.InvalidSchemaNameError,
            asyncpg.UndefinedColumnError,
        ) as error:
            findings.append(failure(_subject(check), f"{error}", "Run macao migrate, as the owner."))
        except asyncpg.InsufficientPrivilegeError as error:
            findings.append(
                failure(
                    _subject(check),
                    f"{error}",
                    "Run this with the login of the schema's owner, who migrates.",
                )
            )
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            findings.append(
                failure(
                    _subject(check), f"could not be looked at: {error!r}", "Mend that, and run this again."
                )
            )
    return findings


def _subject(check: Check) -> str:
    return getattr(check, "__name__", "check").replace("_", " ")
