"""The log stream by stream: every chain, every head, and every finished match audited in full."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any, Final

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from services.cli.auditing.findings import LogFinding, Report
from services.contracts.chain import GENESIS
from services.contracts.envelope import Event, Head, Recorded
from services.contracts.events.catalogue import UndecodableEventError, fact_of
from services.contracts.events.chance import SeedRevealed
from services.contracts.events.match import MatchStarted
from services.contracts.ids import MATCH
from services.engine.audit import Outage, audit_events
from services.engine.record import ENDING
from services.engine.rules.catalogue import Catalogue
from services.runtime.log.codec import EVENT_COLUMNS, to_recorded

STREAMS_MAX: Final = 500
PAGE_MAX: Final = 2000


class Known(Struct, frozen=True):
    """A stream as the table of heads knows it."""

    id: str
    kind: str
    head: Head


class StreamWalk:
    """Walks through the streams of one log. Memory holds a page of events, and the match that is being looked at.

    Args:
        connection: reads the log.
        schema: the log's.
        end: the log's last position when the audit began. What came later is not this audit's business.
        catalogue: the rules, every version of them.
        outages: when the service was down.
        report: takes the findings.
        home: reads the main database, where commitments are; None where the log lives there.
    """

    def __init__(
        self,
        connection: Connection[Any],
        schema: str,
        end: int,
        catalogue: Catalogue,
        outages: Sequence[Outage],
        report: Report,
        home: Connection[Any] | None = None,
    ) -> None:
        self._connection = connection
        self._home = home or connection
        self._end = end
        self._catalogue = catalogue
        self._outages = outages
        self._report = report
        self._seen = 0
        self._commitments: dict[str, asyncpg.Record] = {}
        self._heads_sql = (
            f"SELECT id, kind, version, hash FROM {schema}.streams WHERE id > $1 ORDER BY id LIMIT $2"  # noqa: S608 - no value in it
        )
        self._head_sql = f"SELECT id, kind, version, hash FROM {schema}.streams WHERE id = $1"  # noqa: S608 - as above
        self._events_sql = (
            f"SELECT {EVENT_COLUMNS} FROM {schema}.events"  # noqa: S608 - as above
            " WHERE (stream, version) > ($1, $2) AND stream <= $3 ORDER BY stream, version LIMIT $4"
        )
        self._strays_sql = (
            f"SELECT stream, min(version), min(position) FROM {schema}.events AS e WHERE position <= $1"  # noqa: S608 - as above
            f" AND NOT EXISTS (SELECT FROM {schema}.streams AS s WHERE s.id = e.stream)"
            " GROUP BY stream ORDER BY 3 LIMIT 100"
        )

    async def walk(self) -> None:
        """Look at every stream."""
        after = ""
        while rows := await self._connection.fetch(self._heads_sql, after, STREAMS_MAX):
            known = [Known(row[0], row[1], Head(row[2], row[3])) for row in rows]
            await self._fetch_commitments([each.id for each in known])
            await self._look_at(known, after)
            after = known[-1].id
        if self._seen != self._end:
            for stream, version, position in await self._connection.fetch(self._strays_sql, self._end):
                self._add(
                    "order",
                    "events of a stream that the table of streams does not know",
                    stream,
                    version,
                    position,
                )
        if self._seen > self._end:
            # Of events in partitions no index says so (docs/adr/0017).
            self._report.add(
                LogFinding(
                    "order",
                    f"positions go up to {self._end}, and {self._seen} events stand there: some stand twice",
                )
            )

    async def one(self, stream: str) -> bool:
        """Look at one stream; say whether there is any."""
        row = await self._connection.fetchrow(self._head_sql, stream)
        if row is None:
            return False
        known = Known(row[0], row[1], Head(row[2], row[3]))
        await self._fetch_commitments([stream])
        events = [recorded async for recorded in self._events((stream, 0), stream)]
        await self._stream(known, events)
        return True

    async def _look_at(self, known: Sequence[Known], after: str) -> None:
        """Look at neighbouring streams, in step with the table of heads."""
        waiting = {each.id: each for each in known}
        gathered: list[Recorded] = []
        last = known[-1].id
        beyond = (1 << 63) - 1  # behind every version of the stream that came before
        async for recorded in self._events((after, beyond), last):
            if gathered and gathered[-1].event.stream != recorded.event.stream:
                await self._gathered(waiting, gathered)
                gathered = []
            gathered.append(recorded)
        if gathered:
            await self._gathered(waiting, gathered)
        for each in waiting.values():
            self._add(
                "order", f"the stream has {each.head.version} events, and none is in the log", each.id, 1
            )

    async def _gathered(self, waiting: dict[str, Known], events: list[Recorded]) -> None:
        known = waiting.pop(events[0].event.stream, None)
        if known is not None:  # otherwise it began while the audit went on, or it is a stray
            await self._stream(known, events)

    async def _events(self, after: tuple[str, int], last: str) -> AsyncIterator[Recorded]:
        stream, version = after
        while rows := await self._connection.fetch(self._events_sql, stream, version, last, PAGE_MAX):
            for row in rows:
                yield to_recorded(row)
            self._report.progress(len(rows))
            if len(rows) < PAGE_MAX:
                return
            stream, version = rows[-1]["stream"], rows[-1]["version"]

    async def _stream(self, known: Known, recorded: list[Recorded]) -> None:
        self._seen += sum(each.position <= self._end for each in recorded)
        # What was appended after the head was read is complete in itself, and for the next audit.
        events = [
            each
            for each in recorded
            if each.event.version <= known.head.version or each.position <= self._end
        ]
        self._report.tally.streams += 1
        for before, each in pairwise(events):
            if before.position >= each.position:
                self._add(
                    "order", "it stands in the log before the version in front of it",
                    known.id, each.event.version, each.position,
                )  # fmt: skip
        plain = [each.event for each in events]
        if known.kind == MATCH and any(event.type == ENDING for event in plain):
            self._match(known, events)
        else:
            self._report.tally.running += known.kind == MATCH
            self._chain(known, plain)

    def _match(self, known: Known, recorded: Sequence[Recorded]) -> None:
        positions = {each.event.version: each.position for each in recorded}
        events = [each.event for each in recorded]
        verdict = audit_events(events, known.head, self._catalogue, self._outages)
        tally = self._report.tally
        tally.matches += 1
        tally.commands += verdict.commands
        tally.draws += verdict.draws
        for finding in verdict.findings:
            where = positions.get(finding.version) if finding.version is not None else None
            self._add(finding.check, finding.text, known.id, finding.version, where, finding.clause)
        self._compare_commitment(known.id, events)

    async def _fetch_commitments(self, matches: Sequence[str]) -> None:
        rows = await self._home.fetch(
            "SELECT match, number, commitment, seed FROM macao_engine.commitments WHERE match = ANY ($1)",
            matches,
        )
        self._commitments = {row["match"]: row for row in rows}

    def _compare_commitment(self, stream: str, events: Sequence[Event]) -> None:
        """Compare with the public count of commitments: the one that was counted is the one that was played under."""
        public = self._commitments.get(stream)
        if public is None:
            self._add("chance", "its commitment is not in the public count of commitments", stream, 1)
            return
        # The seed need not be the last word: a ruling may void the match after its end.
        for event in (events[0], *(event for event in events if event.type == ENDING)):
            try:
                fact = fact_of(event)
            except UndecodableEventError:
                continue  # found already
            match fact:
                case MatchStarted():
                    said = (fact.commitment_number, fact.commitment)
                    if said != (public["number"], public["commitment"]):
                        self._add("chance", "the public count names another commitment for it", stream, 1)
                case SeedRevealed():
                    if public["seed"] not in {None, fact.seed}:
                        self._add(
                            "chance", "the public count names another seed for it", stream, event.version
                        )
                case _:
                    pass

    def _chain(self, known: Known, events: Sequence[Event]) -> None:
        """Look at a stream that no rules speak of, or not yet: order, hashes, links and head."""
        previous = GENESIS
        for expected, event in enumerate(events, 1):
            if event.version != expected:
                self._add("order", f"version {expected} is missing", known.id, expected)
                return
            if event.recomputed_hash() != event.hash:
                self._add(
                    "chain",
                    "the hash is not that of this event: something in it was changed",
                    known.id,
                    expected,
                )
                return
            if event.previous != previous:
                self._add("chain", "this event was not chained to the one before it", known.id, expected)
                return
            previous = event.hash
        if known.head != Head(len(events), previous):
            self._add(
                "order", f"the stream ends with version {known.head.version} elsewhere than its events do", known.id,
                min(known.head.version, len(events)) or 1,
            )  # fmt: skip

    def _add(
        self,
        check: Any,
        text: str,
        stream: str,
        version: int | None = None,
        position: int | None = None,
        clause: str | None = None,
    ) -> None:
        self._report.add(LogFinding(check, text, stream, version, position, clause))
