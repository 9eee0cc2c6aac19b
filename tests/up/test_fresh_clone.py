"""A fresh clone in a fresh home, from nothing: the two commands of the README. Installs from the package index."""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import tree
from tests.support.up import PATIENCE_SECONDS, Up, open_directory, processes_of

pytestmark = pytest.mark.slow

INSTALL_SECONDS_MAX = 240.0


@pytest.fixture
def clone() -> Iterator[Path]:
    with open_directory() as directory:
        (directory / "clone").mkdir()
        tree.copy_to(directory / "clone")
        yield directory


def start_twice(directory: Path, python: str, **more: Any) -> None:
    """Start from nothing, stop, and start again."""
    environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": "", "MACAO_HOME": ""}
    command = [python, str(directory / "clone/macao")]
    home = directory / "data"
    with Up(home, command=command, environment=environment, cwd="/", **more) as first:
        first.wait_ready(INSTALL_SECONDS_MAX)
        assert "Installed in" in first.output
        first_key = (home / "secret.key").read_bytes() if os.access(home / "secret.key", os.R_OK) else b""
        first.end()
    assert not processes_of(home)
    started = time.monotonic()
    with Up(home, command=command, environment=environment, cwd="/", **more) as second:
        second.wait_ready(PATIENCE_SECONDS)
        assert time.monotonic() - started < 10  # the bound of 5 s is tested where nothing else is measured
        assert "Installed in" not in second.output
        assert (home / "secret.key").read_bytes() == first_key
    assert not processes_of(home)


def usable_python(**more: Any) -> str:
    """Return a Python of the machine's that an ordinary account can run, with what venv needs."""
    for name in ("python3.14", "python3.13", "python3.12", "python3.11", "python3"):
        python = shutil.which(name, path="/usr/bin:/usr/local/bin:/opt/homebrew/bin")
        fits = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
        if python and subprocess.run([python, "-c", fits], cwd="/", check=False, **more).returncode == 0:
            return python
    pytest.skip("this machine has no Python with venv that every account can run")


def test_as_the_present_user(clone: Path) -> None:
    start_twice(clone, usable_python())


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the account")
def test_as_a_normal_user(clone: Path) -> None:
    account = pwd.getpwnam("nobody")
    more = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    python = usable_python(**more)
    for path in [clone, *clone.rglob("*")]:
        os.chown(path, account.pw_uid, account.pw_gid)
    start_twice(clone, python, **more)
