"""A log file that a server appends to by itself, and that we keep from growing without end."""

import os
import shutil
from pathlib import Path
from typing import BinaryIO, Final

SIZE_MAX_BYTES: Final = 8 * 1024 * 1024


class BoundedLog:
    """One file and its predecessor, each of at most about ``SIZE_MAX_BYTES``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        """Open for appending, to be handed to a child as its output. Only its owner may read it."""
        self.path.parent.mkdir(exist_ok=True)
        self.trim()
        return os.fdopen(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")

    def trim(self) -> None:
        """Start afresh when the file has grown too large.

        The child keeps its descriptor, so the file is copied away and emptied in place; a line written between
        the two steps is lost, which a log can bear.
        """
        try:
            if self.path.stat().st_size <= SIZE_MAX_BYTES:
                return
        except FileNotFoundError:
            return
        shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
        with self.path.open("r+b") as file:
            file.truncate(0)

    def last_words(self, since: int = 0) -> str:
        """Return the most telling line written after the byte offset ``since``: the last error, else the last line."""
        try:
            with self.path.open("rb") as file:
                file.seek(since)
                lines = [
                    line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()
                ]
        except FileNotFoundError:
            return "it wrote nothing"
        telling = [line for line in lines if "FATAL" in line or "PANIC" in line or "rror" in line]
        return (telling or lines or ["it wrote nothing"])[-1]

    def size(self) -> int:
        """Return the size in bytes, the place from which what follows can be told apart."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0
