"""Which account the servers run under.

PostgreSQL refuses to run as root. When we are root, both servers run as ``postgres`` if the machine has that
account, else as ``nobody``; for everybody else they run as the user who started them.
"""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from services.cli.embedded.errors import EmbeddedError


class Account(Struct, frozen=True):
    """An account of this machine that servers run under in place of root."""

    name: str
    uid: int
    gid: int


def service_account() -> Account | None:
    """Return the account to run servers under, or None when that is the present user.

    Raises:
        EmbeddedError: we are root, and there is no account to change to.
    """
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        "PostgreSQL does not run as root: add an account named postgres, or start as another user."
    )


def run_as(
    account: Account | None, command: list[str], *, standard_input: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a short program to its end, with a bare environment and its output captured together."""
    return subprocess.run(
        command,
        input=standard_input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=bare_environment(),
        check=False,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def bare_environment() -> dict[str, str]:
    """Return the little that a server may know of the environment: nothing of the caller's PG* or LC_* leaks in."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def require_entry(directory: Path, account: Account | None) -> None:
    """Check that the account can reach into the directory. It is tried, because modes alone do not tell.

    Raises:
        EmbeddedError: it cannot; we never open a directory that belongs to somebody.
    """
    if account is None:
        return
    if run_as(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(directory)]).returncode:
        raise EmbeddedError(
            f"{directory} cannot be reached by the account {account.name}, which runs PostgreSQL for root: "
            "choose a home outside of private directories with --home DIR."
        )


def make_private_directory(directory: Path, account: Account | None) -> None:
    """Make an empty directory that only the account can use."""
    directory.mkdir(mode=0o700)
    if account is not None:
        shutil.chown(directory, account.uid, account.gid)
