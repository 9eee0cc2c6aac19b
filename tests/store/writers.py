"""What the tests of the log write with: a stream that chains its own events."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from asyncpg import Connection, Record

from services.contracts.envelope import Draft, Event, Head, Link, chain
from services.runtime.log import Append, Appended, EventLog, codec
from services.runtime.settings import Settings

AT_MS = 1_764_470_000_000
ACTOR = "p_01KB9YZZZZZZZZZZZZZZZZZZZZ"

_numbers = itertools.count(1)


def settings_for(database_url: str, **given: Any) -> Settings:
    given = {"poll_seconds": 0.2, "database_pool_max": 6, **given}
    return Settings(database_url=database_url, secret_key="A" * 43, **given)


class Stream:
    """One stream as its writer sees it."""

    def __init__(self, name: str | None = None, kind: str = "m") -> None:
        self.id = name or f"{kind}_{next(_numbers):026}"
        self.kind = self.id[0]
        self.head = Head()

    def next(
        self,
        *bodies: bytes,
        command: str | None = None,
        sealed: bytes | None = None,
        request: bytes = b"request",
        answer: bytes = b'{"ok":true}',
        type: str = "rolled",
    ) -> Append:
        """Return an append behind the present head; it moves with ``took``."""
        drafts = [
            Draft(type, 1, body, sealed=sealed, salt=None if sealed is None else bytes(range(16)))
            for body in bodies or (b'{"type":"rolled"}',)
        ]
        command = command or f"c_{next(_numbers):026}"
        events = chain(
            self.head,
            drafts,
            stream=self.id,
            actor=ACTOR,
            command=command,
            at_ms=AT_MS,
            cause=b'{"type":"roll"}',
        )
        return Append(self.id, self.kind, self.head, tuple(events), command, sha256(request).digest(), answer)

    def took(self, item: Append) -> None:
        """Move on: ``item`` was committed."""
        self.head = item.events[-1].head


def link_of(event: Event) -> Link:
    """Return what a fold needs of an event."""
    return Link(**{field: getattr(event, field) for field in Link.__struct_fields__})


async def links_are_those_of_events(log: EventLog, stream: Stream) -> list[Link]:
    """Hold what is read of a stream to be folded against its events, whole and in pages; return it."""
    links = await log.read_links(stream.id)
    assert links == [link_of(recorded.event) for recorded in await log.read_stream(stream.id)]
    for after, limit in ((0, 1), (1, 2), (len(links) - 1, 5), (len(links), 5)):
        assert await log.read_links(stream.id, after, limit) == links[after : after + limit]
    async with log.part_of(stream.id).database.pool.acquire() as connection:
        assert await log.part_of(stream.id).read_links(stream.id, connection=connection) == links
    return links


async def append_raw(connection: Connection[Any], items: Sequence[Append]) -> list[Record]:
    """Call the function itself, without the coalescer; answers in the order of the items, which need not be sorted."""
    batch = sorted(items, key=lambda item: item.stream)
    numbers = ", ".join(f"${number}" for number in range(1, codec.ARGUMENTS + 1))
    rows = await connection.fetch(
        f"SELECT * FROM macao_log.append_many({numbers})", *codec.to_arguments(batch)
    )
    by_stream = dict(zip([item.stream for item in batch], codec.in_order(rows, len(batch)), strict=True))
    return [by_stream[item.stream] for item in items]


async def write_rounds(append: Any, stream: Stream, rounds: int) -> None:
    """Append so many commands of one to three events to one stream, each of which has to succeed."""
    for number in range(rounds):
        item = stream.next(*[b'{"type":"rolled"}'] * (1 + number % 3))
        outcome = await append(item)
        assert isinstance(outcome, Appended), outcome
        stream.took(item)
