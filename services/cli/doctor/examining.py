"""All checks, one after the other; what cannot be looked at is a finding, too."""

from __future__ import annotations

from typing import Final, Protocol

import asyncpg

from services.cli.doctor import around, logs, partitions, readers, schema, secret_keys, server, truth
from services.cli.doctor.finding import Finding, failure
from services.cli.doctor.patient import Patient


class Check(Protocol):
    """Looks at one subject, which its name says."""

    __name__: str

    async def __call__(self, patient: Patient, /) -> list[Finding]:
        """Return what was found."""
        ...


CHECKS: Final[tuple[Check, ...]] = (
    server.version, server.durability, server.connections,
    logs.logs,
    schema.migrations, schema.rights, schema.triggers, partitions.partitions,
    secret_keys.secret_keys, secret_keys.signing_keys,
    truth.numbering, truth.chains, truth.checkpoints,
    readers.subscriptions,
    around.bell, around.clocks, around.disks, around.services,
)  # fmt: skip


async def examine(patient: Patient) -> list[Finding]:
    """Return what was found, in the order of the checks."""
    try:
        return [found for check in CHECKS for found in await _looked(check, patient)]
    finally:
        await patient.close()


async def _looked(check: Check, patient: Patient) -> list[Finding]:
    subject = check.__name__.replace("_", " ")
    try:
        return await check(patient)
    except (
        asyncpg.UndefinedTableError,
        asyncpg.InvalidSchemaNameError,
        asyncpg.UndefinedColumnError,
    ) as error:
        return [failure(subject, f"{error}", "Run macao migrate, as the owner.")]
    except asyncpg.InsufficientPrivilegeError as error:
        return [failure(subject, f"{error}", "Run this with the login of the schema's owner, who migrates.")]
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        return [failure(subject, f"could not be looked at: {error!r}", "Mend that, and run this again.")]
