"""Replacing the key that encrypts: everything is encrypted anew, in small steps, while services run.

A step reads some rows and writes those that need it, each only if it is still as it was read. Whatever a service writes
meanwhile is under its own first key: so services get the new key first (docs/operations.md), and a last look finds what
was written before the last of them had it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from services.runtime.connection import AnyConnection
from services.runtime.vault import Vault, key_of

STEP_ROWS: Final = 500
PASSES_MAX: Final = 3


class Encrypted(Struct, frozen=True):
    """A column of ciphertexts.

    Attributes:
        table: with its schema.
        key: the column that names a row, a text; also the associated data.
        field: the column of ciphertexts.
        purpose: as the vault knows it.
    """

    table: str
    key: str
    field: str
    purpose: str


SIGNING_KEYS: Final = Encrypted("macao_runtime.signing_keys", "kid", "private_key", "signing key")
SECRETS: Final = Encrypted("macao_runtime.secrets", "name", "sealed", "secret")
ANSWERS: Final = Encrypted("macao_runtime.answers", "command", "answer", "stored answer")
REQUESTS: Final = Encrypted("macao_runtime.answers", "command", "request_hash", "request of a stored answer")

RUNTIME_COLUMNS: Final = (SIGNING_KEYS, SECRETS, ANSWERS, REQUESTS)

REQUEST_MARK_BYTES: Final = 32
"""What stood in ``request_hash`` before it was encrypted: nothing to be rotated, and gone after a day."""


class Rotated(Struct, frozen=True):
    """What became of a column: rows that were encrypted anew, and those that are still under another key."""

    column: Encrypted
    renewed: int
    left: int


async def rotate(
    connection: AnyConnection, vault: Vault, column: Encrypted, told: Callable[[int], None] | None = None
) -> Rotated:
    """Encrypt a column anew under the first key of the vault; ``told`` hears how many rows have been looked at.

    Raises:
        VaultError: a row needs a key that is not there; what was done before stays done.
    """
    renewed = seen = 0
    left = 0
    for _ in range(PASSES_MAX):
        after, left = "", 0
        while rows := await _page(connection, column, after):
            changes = [_change(vault, column, row) for row in rows if _needs(vault, row[1])]
            for change in changes:
                done: str = await connection.execute(
                    f"UPDATE {column.table} SET {column.field} = $3"  # noqa: S608 - names of our own
                    f" WHERE {column.key} = $1 AND {column.field} = $2",
                    *change,
                )
                renewed += done.endswith(" 1")
            left += len(changes)
            seen += len(rows)
            after = rows[-1][0]
            if told is not None:
                told(seen)
        if not left:
            break
    return Rotated(column, renewed, await _others(connection, vault, column) if left else 0)


async def keys_in(connection: AnyConnection, column: Encrypted) -> Counter[str]:
    """Return how many rows of a column each key is needed for; an empty id stands for rows that name no key."""
    rows: Any = await connection.fetch(
        f"SELECT substr({column.field}, 1, 5) AS head, count(*) AS rows FROM {column.table}"  # noqa: S608
        f" WHERE octet_length({column.field}) <> {REQUEST_MARK_BYTES} GROUP BY 1"
    )
    found = Counter[str]()
    for row in rows:
        found[key_of(row["head"])] += row["rows"]
    return found


def _needs(vault: Vault, encrypted: bytes) -> bool:
    return len(encrypted) != REQUEST_MARK_BYTES and not vault.is_current(encrypted)


def _change(vault: Vault, column: Encrypted, row: Any) -> tuple[str, bytes, bytes]:
    name, before = row
    associated = name.encode()
    data = vault.decrypt(column.purpose, before, associated)
    return name, before, vault.encrypt(column.purpose, data, associated)


async def _page(connection: AnyConnection, column: Encrypted, after: str) -> list[Any]:
    found: list[Any] = await connection.fetch(
        f"SELECT {column.key}, {column.field} FROM {column.table}"  # noqa: S608
        f" WHERE {column.key} > $1 ORDER BY {column.key} LIMIT {STEP_ROWS}",
        after,
    )
    return found


async def _others(connection: AnyConnection, vault: Vault, column: Encrypted) -> int:
    counts = await keys_in(connection, column)
    return sum(rows for key, rows in counts.items() if key != vault.key_ids[0])
