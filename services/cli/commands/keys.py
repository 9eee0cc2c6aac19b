"""``macao keys``: the keys that encrypt and that sign, and how they are replaced."""

import argparse
import asyncio
import os
import secrets
from typing import TYPE_CHECKING, Any, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from services.runtime.rotating import Encrypted
    from services.runtime.tokens.keyring import Purpose
    from services.runtime.vault import Vault

NAME: Final = "keys"
HELP: Final = "show the keys that encrypt and sign, and replace them"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "action", nargs="?", choices=("show", "make", "rotate", "renew"), default="show",
        help="show: what needs which key (the default). make: print a fresh secret key. rotate: encrypt everything anew"
        " under the first key of MACAO_SECRET_KEY. renew: a new signing key, which takes over in a minute",
    )  # fmt: skip
    parser.add_argument(
        "purpose", nargs="?", choices=("record", "token"), help="of renew: what the key is to sign"
    )
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Show, make, rotate or renew.

    Raises:
        Advice: a key is missing or malformed, or the database cannot be reached.
    """
    if (args.action == "renew") != (args.purpose is not None):
        raise Advice("say macao keys renew record, or macao keys renew token.")
    if args.action == "make":
        print(secrets.token_urlsafe(32))
        return 0
    import asyncpg

    from services.cli.database import database_of
    from services.runtime.clock import system_entropy
    from services.runtime.vault import Vault, VaultError

    try:
        vault = Vault(_secret_keys(), system_entropy)
        return asyncio.run(_work(database_of(args.database), vault, args.action, args.purpose))
    except VaultError as error:
        raise Advice(f"{error}.") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice(
            "this login may not change keys: use that of the schema's owner, who migrates."
        ) from error
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
        raise Advice("this database is not up to date: run macao migrate first.") from error
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error


def _secret_keys() -> str:
    from services.cli.embedded.home import Home
    from services.cli.places import default_home

    given = os.environ.get("MACAO_SECRET_KEY")
    if given:
        return given
    running = Home(default_home()).running()
    if running is None:
        raise Advice("set MACAO_SECRET_KEY to what the services have; or start macao up first.")
    return running.secret_key


async def _work(url: str, vault: "Vault", action: str, purpose: "Purpose | None") -> int:
    import asyncpg

    connection: Any = await asyncpg.connect(url)
    try:
        if purpose is not None:
            return await _renew(connection, vault, purpose)
        if action == "rotate":
            return await _rotate(connection, vault)
        return await _show(connection, vault)
    finally:
        await connection.close()


async def _renew(connection: Any, vault: "Vault", purpose: "Purpose") -> int:
    from services.runtime.clock import SystemClock, system_entropy
    from services.runtime.tokens.keyring import LEAD_SECONDS, create_key

    async with connection.transaction():
        key_id = await create_key(connection, vault, purpose, SystemClock(), system_entropy, LEAD_SECONDS)
    print(
        f"{key_id} signs {purpose}s in {LEAD_SECONDS:.0f} seconds; it is among the published keys now.\n"
        "Keys before it stay there: what they signed verifies as before."
    )
    return 0


async def _rotate(connection: Any, vault: "Vault") -> int:
    from services.runtime.rotating import rotate

    left = 0
    for column in await _columns(connection):
        done = await rotate(connection, vault, column)
        left += done.left
        print(f"{column.table}.{column.field}: {done.renewed:,} encrypted anew")
    first = vault.key_ids[0]
    if left:
        print(
            f"{left:,} rows were written under other keys meanwhile. Services still run that do not have the key"
            f" {first} first: start them anew with it, and run macao keys rotate again."
        )
        return 1
    others = ", ".join(vault.key_ids[1:])
    print(f"Everything is under the key {first}." + (f" No row needs {others} any more." if others else ""))
    return 0


async def _show(connection: Any, vault: "Vault") -> int:
    from collections import Counter

    from services.runtime.rotating import keys_in

    needed = Counter[str]()
    for column in await _columns(connection):
        counts = await keys_in(connection, column)
        needed += counts
        told = ", ".join(
            f"{rows:,} under {key or 'a key without a name'}" for key, rows in sorted(counts.items())
        )
        print(f"{column.table}.{column.field}: {told or 'empty'}")
    print()
    for at, key in enumerate(vault.key_ids):
        use = (
            "encrypts"
            if at == 0
            else "still needed"
            if needed[key] or needed[""]
            else "needed by no row: take it out"
        )
        print(f"key {key}: {use}")
    missing = sorted(key for key in needed if key and key not in vault.key_ids)
    for key in missing:
        print(f"key {key}: MISSING from MACAO_SECRET_KEY, and {needed[key]:,} rows need it")
    print()
    rows = await connection.fetch(
        "SELECT kid, purpose, created_at,"
        " lead(created_at) OVER (PARTITION BY purpose ORDER BY created_at, kid) AS until"
        " FROM macao_runtime.signing_keys ORDER BY purpose, created_at, kid"
    )
    for row in rows:
        until = f"to {row['until']:%Y-%m-%d %H:%M:%S}" if row["until"] else "on"
        print(
            f"{row['kid']} signs {row['purpose']}s from {row['created_at']:%Y-%m-%d %H:%M:%S} {until} (UTC)"
        )
    return 1 if missing else 0


async def _columns(connection: Any) -> "list[Encrypted]":
    from services.cli.encrypted import ENCRYPTED

    return [
        one for one in ENCRYPTED if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", one.table)
    ]
