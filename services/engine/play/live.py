"""Live matches: the state of a match in memory, folded from its stream and moved on through the log."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from services.contracts.chain import SALT_BYTES
from services.contracts.envelope import Draft, Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft, fact_of
from services.contracts.ids import MATCH
from services.engine.play.commitments import Commitments
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import MatchKeys
from services.engine.rules.kernel import SPECTATOR
from services.engine.rules.match import Match
from services.runtime.clock import Entropy
from services.runtime.log import Append, Appended, Conflict, EventLog, Outcome

LIVE_MATCHES_MAX: Final = 4096
PAGE_EVENTS: Final = 1000


class Live(Struct):
    """A match as this process knows it; ``head`` says up to which event."""

    match: Match
    head: Head
    keys: MatchKeys
    last_at_ms: int
    lock: asyncio.Lock


class LiveMatches:
    """The matches that this process has looked at lately. Whatever it forgets, it folds again from the log."""

    def __init__(
        self, log: EventLog, commitments: Commitments, catalogue: Catalogue, entropy: Entropy
    ) -> None:
        """Keep matches of a catalogue over a log."""
        self._log = log
        self._commitments = commitments
        self._catalogue = catalogue
        self._entropy = entropy
        self._live: OrderedDict[str, Live] = OrderedDict()

    async def get(self, match: str) -> Live | None:
        """Return a match as this process knows it, None if its stream does not exist."""
        live = self._live.get(match)
        if live is None:
            live = await self._load(match)
            if live is None:
                return None
            live = self._live.setdefault(match, live)
            self._forget_some()
        self._live.move_to_end(match)
        return live

    async def refreshed(self, match: str) -> Live | None:
        """Return a match with everything that other processes have written by now."""
        live = await self.get(match)
        if live is not None:
            await self.catch_up(live)
        return live

    async def catch_up(self, live: Live) -> None:
        """Fold what the stream has beyond the live state."""
        stream = live.match.started.match
        while True:
            page = await self._log.read_stream(stream, live.head.version, PAGE_EVENTS)
            for recorded in page:
                self._follow(live, recorded.event)
            if len(page) < PAGE_EVENTS:
                return

    async def append(
        self,
        live: Live,
        facts: Sequence[Fact],
        *,
        actor: str,
        command: str,
        at_ms: int,
        cause: bytes | None,
        request_hash: bytes,
        answer: Callable[[list[Event]], bytes],
    ) -> Outcome:
        """Put decided facts into the log and, when they are in, into the live state.

        ``answer`` makes the bytes that a retry of the command will get, from the chained events.
        """
        stream = live.match.started.match
        at_ms = max(at_ms, live.last_at_ms)
        drafts = [self.draft(live.match, fact) for fact in facts]
        events = chain(
            live.head, drafts, stream=stream, actor=actor, command=command, at_ms=at_ms, cause=cause
        )
        outcome = await self._log.append(
            Append(
                stream=stream,
                kind=MATCH,
                expected=live.head,
                events=tuple(events),
                command=command,
                request_hash=request_hash,
                answer=answer(events),
            )
        )
        match outcome:
            case Appended():
                for event, fact in zip(events, facts, strict=True):
                    if event.version == live.head.version + 1:
                        self._step(live, event, fact)
            case Conflict():
                await self.catch_up(live)
            case _:
                pass
        return outcome

    def draft(self, match: Match, fact: Fact) -> Draft:
        """Return a fact ready for the chain, what spectators may not see sealed with a fresh salt."""
        public = matches.redact(match.rules, fact, SPECTATOR)
        return draft(fact, public, None if public is fact else self._entropy(SALT_BYTES))

    async def _load(self, match: str) -> Live | None:
        first = await self._log.read_stream(match, 0, 1)
        if not first:
            return None
        event = first[0].event
        begun = matches.fold([fact_of(event)], self._catalogue)
        keys = matches.keys_of(begun, await self._commitments.seed_of(match))
        live = Live(begun, event.head, keys, event.at_ms, asyncio.Lock())
        await self.catch_up(live)
        return live

    def _follow(self, live: Live, event: Event) -> None:
        if event.version == live.head.version + 1:
            self._step(live, event, fact_of(event))

    def _step(self, live: Live, event: Event, fact: Fact) -> None:
        live.match = matches.evolve(live.match, fact)
        live.head = event.head
        live.last_at_ms = event.at_ms

    def _forget_some(self) -> None:
        for known in list(self._live)[: max(0, len(self._live) - LIVE_MATCHES_MAX)]:
            if not self._live[known].lock.locked():
                del self._live[known]
