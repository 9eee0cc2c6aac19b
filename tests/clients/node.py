"""The project that the TypeScript example and the tests of generated clients share."""

from functools import cache
from pathlib import Path
from typing import Final

from tests.support import npm
from tests.support.npm import node
from tests.support.up import ROOT

__all__ = ["LOCK", "PROJECT", "node", "packages"]

PROJECT: Final = ROOT / "examples/typescript"
LOCK: Final = PROJECT / "package-lock.json"


@cache
def packages() -> Path:
    """Return its ``node_modules``; the test is skipped where npm reaches no registry."""
    return npm.packages(PROJECT)
