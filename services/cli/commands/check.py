"""``macao check``: everything that can be said about the source without starting a service."""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from services.cli.places import ROOT

NAME: Final = "check"
HELP: Final = "check format, lint, types, import rules, and run the fast tests"
PASSES_ON: Final = False

AT_ONCE: Final = 2  # the type checkers take a core each for most of the time

# `python -m` rather than the scripts beside it: those break when the virtual environment is moved.
CHECKS: Final[dict[str, list[str]]] = {
    "mypy": ["-m", "mypy"],
    "pyright": ["-m", "pyright"],
    "format": ["-m", "ruff", "format", "--check", "--output-format", "concise", "."],
    "lint": ["-m", "ruff", "check", "--output-format", "concise", "."],
    "imports": ["-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-logo"],
    "tests": [
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-m",
        "not slow and not thorough",
        "tests/house",
        "tests/rules",
    ],
}


class Finding(NamedTuple):
    """What one check said."""

    name: str
    passed: bool
    seconds: float
    output: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "only", nargs="*", choices=[*CHECKS, []], metavar="CHECK", help=f"of {', '.join(CHECKS)}"
    )


def run(args: argparse.Namespace) -> int:
    """Run all of them, however many fail, and tell of each as it ends."""
    wanted = args.only or list(CHECKS)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        findings = list(map(_tell, pool.map(_run, wanted)))
    failed = [finding.name for finding in findings if not finding.passed]
    print(f"check: {', '.join(failed)} failed" if failed else f"check: all {len(findings)} passed")
    return 1 if failed else 0


def _run(name: str) -> Finding:
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, *CHECKS[name]],
        cwd=ROOT,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Finding(name, ran.returncode == 0, time.monotonic() - started, ran.stdout.strip())


def _tell(finding: Finding) -> Finding:
    print(
        f"{finding.name:<8} {'passed' if finding.passed else 'FAILED'} {finding.seconds:6.1f} s", flush=True
    )
    if not finding.passed:
        print(finding.output + "\n", flush=True)
    elif finding.name == "tests":
        print(finding.output.rpartition("\n")[2], flush=True)
    return finding
