"""The streams of tables: read and folded, the last ones remembered; appended to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.catalogue import TableFact, draft, fact_of
from services.contracts.events.chance import SeedRevealed
from services.contracts.events.match import MatchVoided, PlayerEliminated
from services.contracts.events.table import TableOpened
from services.contracts.ids import TABLE, is_id
from services.lobby.tables.table import Table, evolve, opened
from services.runtime.clock import Clock
from services.runtime.lately import Lately
from services.runtime.log import Append, Appended, EventLog, Outcome
from services.runtime.web.idempotency import Command

LEFT: Final = str(PlayerEliminated.__struct_config__.tag)
_ENDS: Final = frozenset(str(fact.__struct_config__.tag) for fact in (SeedRevealed, MatchVoided))
PAGE_EVENTS: Final = 1_000
REMEMBERED_MAX: Final = 4_096

_encode: Final = msgspec.json.Encoder().encode


class Loaded(Struct, frozen=True):
    """A table, and the head of its stream to append behind."""

    table: Table
    head: Head
    last_at_ms: int


class Written(Struct, frozen=True):
    """What is kept as the answer to a table's command: enough to show the table as it then was."""

    table: str
    version: int


class TableStreams:
    """Reads and writes the streams of tables."""

    def __init__(self, log: EventLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._remembered = Lately[Loaded](REMEMBERED_MAX)
        self._connections = log.connections

    async def load(self, table: str) -> Loaded | None:
        """Return a table with everything written so far, or None if there is none of that id."""
        if not is_id(TABLE, table):
            return None
        if self._connections != self._log.connections:
            self._connections = self._log.connections
            self._remembered.clear()  # another server may answer by now, and not have all that was seen on the old one
        loaded = await self._read_on(table, self._remembered.get(table))
        if loaded is not None:
            self._remembered.keep(table, loaded)
        return loaded

    async def load_at(self, table: str, version: int) -> Table | None:
        """Return a table as it was at a version, or None if it does not go that far."""
        loaded: Loaded | None = None
        for event in await self.events(table, 0, version):
            loaded = _step(loaded, event)
        return None if loaded is None or loaded.table.version != version else loaded.table

    async def each(self, table: str, after: int, until: int) -> list[Table]:
        """Return a table as each event after a version left it, up to another one."""
        loaded: Loaded | None = None
        tables: list[Table] = []
        for event in await self.events(table, 0, until):
            loaded = _step(loaded, event)
            if event.version > after:
                tables.append(loaded.table)
        return tables

    async def is_over(self, match: str) -> bool:
        """Say whether the log has the end of a match; the table hears of it a moment later.

        The last event of a match shows its seed, or makes it void after all.
        """
        head = await self._log.head_of(match)
        if head is None:
            return False
        return any(event.type in _ENDS for event in await self.events(match, head.version - 1))

    async def left_match(self, match: str) -> tuple[int, ...]:
        """Return the seats of those who left a match while it ran; time that ran out is no leaving."""
        facts = [fact_of(event) for event in await self.events(match, 0) if event.type == LEFT]
        return tuple(
            fact.seat for fact in facts if isinstance(fact, PlayerEliminated) and fact.reason == "left"
        )

    async def events(self, stream: str, after: int, until: int | None = None) -> list[Event]:
        """Return a stream's events after a version, up to another one."""
        events: list[Event] = []
        while until is None or after < until:
            limit = PAGE_EVENTS if until is None else min(PAGE_EVENTS, until - after)
            page = await self._log.read_stream(stream, after, limit)
            events += [recorded.event for recorded in page]
            if len(page) < limit:
                break
            after = events[-1].version
        return events

    async def append(
        self,
        table: str,
        loaded: Loaded | None,
        facts: Sequence[TableFact],
        *,
        actor: str,
        command: Command,
        cause: Any,
    ) -> tuple[Outcome, Table]:
        """Append what was decided behind what was loaded; returns the outcome and the table as decided."""
        head = Head() if loaded is None else loaded.head
        at_ms = self._clock.now_ms() if loaded is None else max(self._clock.now_ms(), loaded.last_at_ms)
        drafts = [draft(fact, fact, None) for fact in facts]
        asked = None if cause is None else _encode(cause)
        events = chain(head, drafts, stream=table, actor=actor, command=command.id, at_ms=at_ms, cause=asked)
        after = loaded
        for event in events:
            after = _step(after, event)
        decided = cast("Loaded", after)
        answer = _encode(Written(table, decided.table.version))
        outcome = await self._log.append(
            Append(
                stream=table,
                kind=TABLE,
                expected=head,
                events=tuple(events),
                command=command.id,
                request_hash=command.hash,
                answer=answer,
            )
        )
        if not isinstance(outcome, Appended):
            # Whatever this process remembers of the table is out of date, or of a log that lost its tail.
            self._remembered.forget(table)
        return outcome, decided.table

    async def _read_on(self, table: str, loaded: Loaded | None) -> Loaded | None:
        for event in await self.events(table, 0 if loaded is None else loaded.table.version):
            if loaded is not None and event.previous != loaded.head.hash:
                return await self._read_on(table, None)
            loaded = _step(loaded, event)
        return loaded


def _step(loaded: Loaded | None, event: Event) -> Loaded:
    fact = cast("TableFact", fact_of(event))
    table = opened(event.stream, cast("TableOpened", fact)) if loaded is None else evolve(loaded.table, fact)
    return Loaded(table, event.head, event.at_ms)
