"""What the audit of a log finds, as it goes along: told at once, never gathered, so that memory stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from services.contracts.loss import Loss

LogCheck = Literal[
    "tree",
    "checkpoint",
    "order",
    "chain",
    "form",
    "seal",
    "signature",
    "chance",
    "rules",
    "actor",
    "time",
    "receipt",
]
"""What was looked at. ``tree``: positions and the Merkle tree over the log; ``checkpoint``: what was signed about it;
the others as in the audit of a match."""

TOLD_MAX: Final = 1000
"""How many findings are told; beyond that they are counted."""


class LogFinding(Struct, frozen=True):
    """One thing that is wrong.

    Attributes:
        stream: the match or table, None where it is about the log.
        version: the event of that stream.
        position: where in the log.
        clause: the clause of the rules that speaks of it, if one does.
        text: what is wrong, in words.
    """

    check: LogCheck
    text: str
    stream: str | None = None
    version: int | None = None
    position: int | None = None
    clause: str | None = None

    def __str__(self) -> str:
        """Return it as a line for people."""
        if self.stream is not None:
            place = self.stream if self.version is None else f"{self.stream} version {self.version}"
        else:
            place = "log" if self.position is None else f"position {self.position}"
        clause = f" ({self.clause})" if self.clause else ""
        return f"{place}, {self.check}: {self.text}{clause}"


class Tally(Struct):
    """How much was looked at, and which losses were declared: they are no findings, and everybody is to know them."""

    events: int = 0
    checkpoints: int = 0
    outside: int = 0
    streams: int = 0
    running: int = 0
    matches: int = 0
    commands: int = 0
    draws: int = 0
    findings: int = 0
    newest: int = 0
    losses: list[Loss] = []


Tell = Callable[[LogFinding], None]
Progress = Callable[[int], None]


class Report:
    """Takes what was found and how far the audit is.

    Args:
        tell: is handed each finding, up to ``TOLD_MAX`` of them.
        progress: is told how many events more have been read.
    """

    def __init__(self, tell: Tell, progress: Progress = lambda _: None) -> None:
        self.tally: Final = Tally()
        self.progress: Final = progress
        self._tell = tell

    def add(self, finding: LogFinding) -> None:
        """Take a finding down."""
        self.tally.findings += 1
        if self.tally.findings <= TOLD_MAX:
            self._tell(finding)
