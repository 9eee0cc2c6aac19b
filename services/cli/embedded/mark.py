"""The mark by which the processes of one home are told from all others on the machine."""

import hashlib
from pathlib import Path


def mark_of(directory: Path) -> str:
    """Return the word that stands on the command line or in the title of whatever runs from the directory."""
    return f"macao-{hashlib.sha256(bytes(directory.resolve())).hexdigest()[:16]}"
