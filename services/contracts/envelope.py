"""The event envelope: what surrounds an event in a stream, in storage and on the wire."""

from __future__ import annotations

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.chain import GENESIS, event_hash, seal_of


class Draft(Struct, frozen=True):
    """An event that is about to be chained: its type, exact public bytes and, where needed, sealed bytes.

    Attributes:
        type: the event's type in kebab case, for instance ``rolled``.
        schema: the version of the type's shape, from 1.
        body: compact JSON that everybody may read.
        sealed: compact JSON of the whole event where ``body`` leaves something out, else None.
        salt: 16 random bytes where there is a sealed body, else None.
    """

    type: str
    schema: int
    body: bytes
    sealed: bytes | None = None
    salt: bytes | None = None


class Head(Struct, frozen=True):
    """The end of a stream: the version of its last event and that event's hash. An empty stream is ``Head()``."""

    version: int = 0
    hash: bytes = GENESIS


class Event(Struct, frozen=True):
    """An event in its stream: all that the hash covers, and the hash.

    Attributes:
        stream: the stream's id.
        version: 1 for the first event of the stream, and so on without a gap.
        actor: the player (``p_…``) or the part of the service that caused it.
        command: the id of the command that caused it; all events of a command share it.
        at_ms: when the command was decided, Unix time in milliseconds.
        cause: the move or request as compact JSON, on the first event of a command, else None.
        seal: SHA-256 commitment to the sealed body, or None.
    """

    stream: str
    version: int
    type: str
    schema: int
    actor: str
    command: str
    at_ms: int
    cause: bytes | None
    body: bytes
    seal: bytes | None
    salt: bytes | None
    sealed: bytes | None
    previous: bytes
    hash: bytes

    @property
    def whole(self) -> bytes:
        """The complete event: the sealed body where there is one, else the public one."""
        return self.body if self.sealed is None else self.sealed

    @property
    def head(self) -> Head:
        """The head of a stream that ends with this event."""
        return Head(self.version, self.hash)

    def recomputed_hash(self) -> bytes:
        """Return the hash that this event should have, given what it says of itself."""
        return event_hash(
            self.previous, self.stream, self.version, self.type, self.schema, self.actor,
            self.command, self.at_ms, self.cause, self.body, self.seal,
        )  # fmt: skip

    def without_secrets(self) -> Self:
        """Return the event as a stranger may have it: salt and sealed body gone, the chain still checkable."""
        return self if self.sealed is None else replace(self, salt=None, sealed=None)


class Link(Struct, frozen=True):
    """An event as somebody takes it who only folds its stream: what happened, and what ties it to the event before.

    It is lighter to read than an `Event`, and not enough to recompute the hash from.

    Attributes:
        whole: the complete event: the sealed body where there is one, else the public one.
    """

    version: int
    type: str
    schema: int
    actor: str
    command: str
    at_ms: int
    cause: bytes | None
    whole: bytes
    previous: bytes
    hash: bytes

    @property
    def head(self) -> Head:
        """The head of a stream that ends with this event."""
        return Head(self.version, self.hash)


class Recorded(Struct, frozen=True):
    """An event with its position in its log (1, 2, 3 … without a gap, in commit order)."""

    position: int
    event: Event


def chain(
    head: Head, drafts: list[Draft], *, stream: str, actor: str, command: str, at_ms: int, cause: bytes | None
) -> list[Event]:
    """Link drafts, in order, behind a stream's head; the cause goes on the first."""
    events: list[Event] = []
    for draft in drafts:
        seal = None
        if draft.sealed is not None:
            if draft.salt is None:
                raise ValueError(f"the sealed body of {draft.type} has no salt")
            seal = seal_of(draft.salt, draft.sealed)
        version = head.version + 1
        digest = event_hash(
            head.hash,
            stream,
            version,
            draft.type,
            draft.schema,
            actor,
            command,
            at_ms,
            cause,
            draft.body,
            seal,
        )
        events.append(
            Event(
                stream=stream,
                version=version,
                type=draft.type,
                schema=draft.schema,
                actor=actor,
                command=command,
                at_ms=at_ms,
                cause=cause,
                body=draft.body,
                seal=seal,
                salt=draft.salt,
                sealed=draft.sealed,
                previous=head.hash,
                hash=digest,
            )
        )
        head = Head(version, digest)
        cause = None
    return events
