"""``macao lock``: choose the versions of everything that is installed."""

import argparse
import shutil
import subprocess
from typing import Final

from services.cli.advice import Advice
from services.cli.places import ROOT

NAME: Final = "lock"
HELP: Final = "write requirements/*.txt anew from requirements/*.in (needs uv)"
PASSES_ON: Final = False

OLDEST_PYTHON: Final = "3.11"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--upgrade", action="store_true", help="take the newest versions that the .in files allow"
    )


def run(args: argparse.Namespace) -> int:
    """Resolve for every platform and Python at once, with hashes, in this order: each set builds on the one before."""
    uv = shutil.which("uv")
    if uv is None:
        raise Advice("locking needs uv: install it, then run ./macao lock again.")
    for name in ("run", "dev", "bench"):
        command = [
            *(uv, "pip", "compile", f"requirements/{name}.in", "--output-file", f"requirements/{name}.txt"),
            *(
                "--universal",
                "--python-version",
                OLDEST_PYTHON,
                "--generate-hashes",
                "--only-binary",
                ":all:",
            ),
            *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"),
            *(["--upgrade"] if args.upgrade else []),
        ]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return 1
        print(f"requirements/{name}.txt")
    return 0
