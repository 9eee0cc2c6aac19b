"""What is asked of the log, and what it answers."""

from __future__ import annotations

from msgspec import Struct

from services.contracts.envelope import Event, Head


class Append(Struct, frozen=True):
    """One command's events for one stream.

    Attributes:
        stream: the stream's id.
        kind: the kind of the stream: ``m`` for a match, ``t`` for a table.
        expected: the head that the events were chained behind; ``Head()`` creates the stream.
        events: at least one, chained.
        command: the command's id, unique for ever in its log.
        request_hash: SHA-256 of what was asked; another one under the same id is a misuse of the id.
        answer: JSON to give back to a retry.
    """

    stream: str
    kind: str
    expected: Head
    events: tuple[Event, ...]
    command: str
    request_hash: bytes
    answer: bytes


class Appended(Struct, frozen=True, tag=True):
    """The events are committed; ``version`` and ``position`` are those of the last one."""

    version: int
    position: int


class Duplicate(Struct, frozen=True, tag=True):
    """The same command was committed before; ``answer`` is what it was answered with, ``version`` what it led to."""

    answer: bytes
    version: int


class Reused(Struct, frozen=True, tag=True):
    """The command id stands for another request; nothing was done."""


class Conflict(Struct, frozen=True, tag=True):
    """The stream does not end where the events were chained: it ends at ``head``. Nothing was done."""

    head: Head


Outcome = Appended | Duplicate | Reused | Conflict


class Command(Struct, frozen=True):
    """A command that was committed: the stream and version that it led to, and what it was answered."""

    id: str
    stream: str
    version: int
    request_hash: bytes
    answer: bytes
