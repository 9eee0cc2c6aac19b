"""Checkpoints and losses, kept outside the database: each is appended to a file, and synced, before anybody sees it.

Whoever can rewrite the database, chain and tree and all, has not rewritten this file with it. So it belongs on another
disk or machine than the database, and into the backup.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from services.contracts.checkpoint import Checkpoint
from services.contracts.loss import Loss

LINE_BYTES_MAX: Final = 4096
"""Longer than any checkpoint or loss."""

LOSS_LINE: Final = b'{"loss":'

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Checkpoint).decode


class LossLine(Struct, frozen=True, forbid_unknown_fields=True):
    """The line that a loss stands in."""

    loss: Loss


_decode_loss: Final = msgspec.json.Decoder(LossLine).decode


class UnreadableLine(Struct, frozen=True):
    """A whole line of the file that is neither checkpoint nor loss.

    Attributes:
        line: which, from 1; 0 for the last one where lines were not counted.
    """

    line: int
    problem: str


class OutsideFile:
    """The file for one log.

    Args:
        directory: where it lies; made when it is missing.
        log: the log's name.
    """

    def __init__(self, directory: Path, log: str) -> None:
        self.path: Final = directory / f"{log}.checkpoints.ndjson"

    def prepare(self) -> Checkpoint | Loss | UnreadableLine | None:
        """Make the file ready for appending, and return what stands in its last line.

        A line without its end is what a crash left of an append that nobody was told of; it is cut off.

        Raises:
            OSError: the file cannot be read or written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 2 * LINE_BYTES_MAX))
            tail = file.read()
            whole = tail.rfind(b"\n") + 1
            if not whole and size > LINE_BYTES_MAX:
                return UnreadableLine(0, f"the line is longer than {LINE_BYTES_MAX} bytes")
            if whole < len(tail):
                file.truncate(size - len(tail) + whole)
            os.fsync(file.fileno())
        _sync_directory(self.path.parent)
        lines = tail[:whole].splitlines()
        return _read(lines[-1], 0) if lines else None

    def append(self, signed: Checkpoint | Loss) -> None:
        """Append a line; it is on the disk when this returns.

        Raises:
            OSError: it could not be written.
        """
        with self.path.open("ab") as file:
            file.write(_encode(LossLine(signed) if isinstance(signed, Loss) else signed) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> Iterator[Checkpoint | Loss | UnreadableLine]:
        """Yield every whole line, in the order in which they were written; nothing when there is no file.

        Raises:
            OSError: the file is there and cannot be read.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            number = 0
            while line := file.readline(LINE_BYTES_MAX):
                number += 1
                if line.endswith(b"\n"):
                    yield _read(line, number)
                elif len(line) == LINE_BYTES_MAX:
                    yield UnreadableLine(number, f"the line is longer than {LINE_BYTES_MAX} bytes")


def _read(line: bytes, number: int) -> Checkpoint | Loss | UnreadableLine:
    try:
        return _decode_loss(line).loss if line.startswith(LOSS_LINE) else _decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return UnreadableLine(number, f"this is no checkpoint: {error}")


def _sync_directory(directory: Path) -> None:
    """See to it that the file's name is on the disk, too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
