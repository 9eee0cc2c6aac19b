"""``macao test``: pytest, on the source tree."""

import argparse
import os
import sys
from typing import Final

from services.cli.places import ROOT

NAME: Final = "test"
HELP: Final = "run the tests; everything after `test` goes to pytest"
PASSES_ON: Final = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Take no arguments of its own."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Become pytest, so that Ctrl-C and the exit code are its own."""
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *args.rest])  # noqa: S606 - the same interpreter
