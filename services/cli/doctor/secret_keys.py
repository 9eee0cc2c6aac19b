"""Keys: those that encrypt are here, those that sign can be used."""

from __future__ import annotations

from collections import Counter

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.cli.encrypted import ENCRYPTED
from services.runtime.clock import system_entropy
from services.runtime.rotating import SIGNING_KEYS, keys_in
from services.runtime.tokens.keyring import PURPOSES
from services.runtime.vault import Vault, VaultError


async def secret_keys(patient: Patient) -> list[Finding]:
    """Every ciphertext has its key, and no key is left over."""
    try:
        vault = Vault(patient.settings.secret_key, system_entropy)
    except VaultError as error:
        return [
            failure(
                "secret keys",
                f"{error}",
                "Set MACAO_SECRET_KEY to what it was: see docs/operations.md, keys.",
            )
        ]
    needed = Counter[str]()
    for column in ENCRYPTED:
        if await patient.value("SELECT to_regclass($1) IS NOT NULL", column.table):
            needed += await keys_in(patient.connection, column)
    missing = sorted(key for key in needed if key and key not in vault.key_ids)
    if missing:
        return [
            failure(
                "secret keys", f"{needed[key]:,} rows need the key {key}, which is not in MACAO_SECRET_KEY",
                "Put that key back, behind the first and a comma.",
            )
            for key in missing
        ]  # fmt: skip
    first, *others = vault.key_ids
    unneeded = [key for key in others if not needed[key] and not needed[""]]
    if unneeded:
        return [
            warning(
                "secret keys",
                f"no row needs {', '.join(unneeded)}",
                "Take it out of MACAO_SECRET_KEY, and restart.",
            )
        ]
    if others:
        return [warning("secret keys", "a rotation is not finished", "Run macao keys rotate.")]
    return [well("secret keys", f"everything is under the key {first}")]


async def signing_keys(patient: Patient) -> list[Finding]:
    """For each purpose there is a key that signs now and can be opened."""
    try:
        vault = Vault(patient.settings.secret_key, system_entropy)
    except VaultError:
        return []  # told already
    rows = await patient.rows(
        "SELECT kid, purpose, private_key, created_at <= clock_timestamp() AS begun FROM macao_runtime.signing_keys"
    )
    findings: list[Finding] = []
    for row in rows:
        try:
            vault.decrypt(SIGNING_KEYS.purpose, row["private_key"], row["kid"].encode())
        except VaultError as error:
            findings.append(
                failure(
                    "signing keys", f"{row['kid']}: {error}", "Put the key back with which it was encrypted."
                )
            )
    absent = [one for one in PURPOSES if not any(row["purpose"] == one and row["begun"] for row in rows)]
    if absent:
        findings.append(
            warning(
                "signing keys",
                f"none signs: {', '.join(absent)}",
                "A service makes them when it starts: start one.",
            )
        )
    return findings or [well("signing keys", f"{len(rows)} can be used")]
