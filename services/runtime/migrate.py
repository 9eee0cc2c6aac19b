"""Bring a database to the present schema.

Every package with a ``sql/`` directory contributes: ``migrations/NNNN_name.sql``, applied once and in order, never
changed afterwards, and ``functions/*.sql``, each a ``CREATE OR REPLACE`` that is applied again when its text
changes. A package that is not installed is left out, so a single service migrates what it needs.

Safe when two processes start at once: an advisory lock lets one of them work and shows the other that nothing is left.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

import asyncpg
from asyncpg import Connection
from msgspec import Struct

PACKAGES: Final = (
    "services.runtime",
    "services.runtime.log",
    "services.runtime.tree",
    "services.engine",
    "services.lobby",
    "services.projections",
)

APPLICATION_ROLE: Final = "macao_app"

_LOCK: Final = 0x6D6163616F_01  # "macao", 1: one migration at a time in a database
_ROLE_ATTEMPTS: Final = 10
_ROLE_PAUSE_SECONDS: Final = 0.05
_NUMBERED: Final = re.compile(r"^\d{4}_[a-z0-9_]+$")

_HISTORY: Final = """
CREATE SCHEMA IF NOT EXISTS macao_migrations;
CREATE TABLE IF NOT EXISTS macao_migrations.applied (
    package    text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('migration', 'function')),
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (package, kind, name)
);
COMMENT ON TABLE macao_migrations.applied IS 'Which SQL file was applied last, with what text, and when.';
"""


class MigrationError(Exception):
    """The database cannot be brought to the present schema; the message says why, and what to do."""


class Script(Struct, frozen=True):
    """One SQL file.

    Attributes:
        package: the name under which its package is recorded.
        kind: ``migration`` or ``function``.
        name: the file's name without ``.sql``.
    """

    package: str
    kind: str
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """A hash of the text, the same whatever the line endings of the checkout."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """What to call it in front of a person."""
        return f"{self.package}/{self.kind}s/{self.name}"


class Source(Struct, frozen=True):
    """The SQL of one package: its migrations in order, then its functions."""

    name: str
    scripts: tuple[Script, ...]

    @classmethod
    def read(cls, name: str, directory: Path) -> Self:
        """Read ``migrations/`` and ``functions/`` under a directory.

        Raises:
            MigrationError: a migration's name does not begin with a number of its own.
        """
        migrations = sorted((directory / "migrations").glob("*.sql"))
        functions = sorted((directory / "functions").glob("*.sql"))
        numbers: set[str] = set()
        for path in migrations:
            number = path.stem[:4]
            if not _NUMBERED.match(path.stem) or number in numbers:
                raise MigrationError(
                    f"{path.name} needs a name like 0007_what_it_does.sql and a number of its own"
                )
            numbers.add(number)
        scripts = [Script(name, "migration", path.stem, path.read_text("utf-8")) for path in migrations]
        scripts += [Script(name, "function", path.stem, path.read_text("utf-8")) for path in functions]
        return cls(name, tuple(scripts))


def installed_sources() -> list[Source]:
    """Read the SQL of every package that is here, in the order in which they build on each other."""
    sources: list[Source] = []
    for package in PACKAGES:
        parent = package.rpartition(".")[0]
        if find_spec(parent) is None:
            continue
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        directory = Path(spec.origin).parent / "sql"
        if directory.is_dir():
            sources.append(Source.read(package.rpartition(".")[2], directory))
    return sources


async def migrate(dsn: str, sources: Sequence[Source] | None = None) -> list[str]:
    """Apply what is missing and return its labels in order; an empty list means that nothing was.

    Connects as the owner of the schema: whoever migrates first.

    Raises:
        MigrationError: an applied migration was changed, a script failed, or a right is missing.
    """
    wanted = installed_sources() if sources is None else sources
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        await _ensure_role(connection)
        await connection.execute(_HISTORY)
        done: list[str] = []
        for source in wanted:
            done += await _bring_up(connection, source)
        return done
    finally:
        await connection.close()  # and with it goes the lock


async def _bring_up(connection: Connection[Any], source: Source) -> list[str]:
    """Apply one package's missing scripts in one transaction: all of them or none."""
    rows = await connection.fetch(
        "SELECT kind, name, checksum FROM macao_migrations.applied WHERE package = $1", source.name
    )
    applied = {(row["kind"], row["name"]): row["checksum"] for row in rows}
    done: list[str] = []
    async with connection.transaction():
        for script in source.scripts:
            before = applied.get((script.kind, script.name))
            if before == script.checksum:
                continue
            if before is not None and script.kind == "migration":
                raise MigrationError(
                    f"{script.label} was changed after it was applied to this database; "
                    "restore the file, and put the change into a new migration"
                )
            try:
                await connection.execute(script.text)
            except asyncpg.PostgresError as error:
                raise MigrationError(f"{script.label} failed: {error}") from error
            await connection.execute(
                "INSERT INTO macao_migrations.applied (package, kind, name, checksum) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (package, kind, name) DO UPDATE SET checksum = excluded.checksum, applied_at = now()",
                script.package, script.kind, script.name, script.checksum,
            )  # fmt: skip
            done.append(script.label)
    return done


async def _ensure_role(connection: Connection[Any]) -> None:
    """See to it that the application's role exists and that whoever migrates may take it on.

    Roles belong to the whole server: another database's migration may create the same one at this moment.

    Raises:
        MigrationError: it does not, and the login has no right to make it so.
    """
    role = APPLICATION_ROLE
    for _ in range(_ROLE_ATTEMPTS):
        exists, usable, user = await _role_state(connection)
        if usable:
            return
        try:
            await connection.execute(f'GRANT {role} TO "{user}"' if exists else f"CREATE ROLE {role} NOLOGIN")
        except asyncpg.InsufficientPrivilegeError as error:
            raise MigrationError(
                f"the login {user} may not set up the role {role}; let an administrator run: "
                f'CREATE ROLE {role} NOLOGIN; GRANT {role} TO "{user}";'
            ) from error
        except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError, asyncpg.InternalServerError):
            await asyncio.sleep(_ROLE_PAUSE_SECONDS)  # somebody else was at it; look again
    raise MigrationError(f"the role {role} could not be set up; others keep changing it")


async def _role_state(connection: Connection[Any]) -> tuple[bool, bool, str]:
    """Return whether the role exists, whether this login may take it on, and the login's name."""
    # Since PostgreSQL 16 whoever creates a role administers it, which is not yet the right to take it on.
    right = "SET" if connection.get_server_version().major >= 16 else "MEMBER"  # noqa: PLR2004 - a version
    row = await connection.fetchrow(
        "SELECT r.oid IS NOT NULL, coalesce(pg_has_role(u.oid, r.oid, $2), false), u.rolname "
        "FROM pg_roles AS u LEFT JOIN pg_roles AS r ON r.rolname = $1 WHERE u.rolname = current_user",
        APPLICATION_ROLE,
        right,
    )
    if row is None:
        raise MigrationError("the server does not know its own user")
    return row[0], row[1], row[2]
