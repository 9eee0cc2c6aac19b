"""Live matches: the state of a match in memory, folded from its stream and moved on through the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from services.contracts.chain import SALT_BYTES
from services.contracts.envelope import Draft, Event, Head, Link, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft, fact_of
from services.contracts.ids import MATCH
from services.engine.play.commitments import Commitments
from services.engine.play.wire import EventBytes
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import MatchKeys
from services.engine.rules.kernel import SPECTATOR, Move
from services.engine.rules.match import Match
from services.engine.rules.thinking_time import TurnClock
from services.engine.rules.thinking_time import after as clock_after
from services.runtime.clock import Entropy
from services.runtime.lately import Lately
from services.runtime.log import Append, Appended, Conflict, EventLog, Outcome
from services.runtime.web.problems import Problem

LIVE_MATCHES_MAX: Final = 4096
PAGE_EVENTS: Final = 1000

_command_of: Final = attrgetter("command")
_logger: Final = logging.getLogger(__name__)


class Live(Struct):
    """A match as this process knows it.

    Attributes:
        head: up to which event.
        last_at_ms: the time of that event.
        turn: the seat that must decide next, None when the match is over.
        turn_since_ms: since when it must; calls and catches of others do not give it more time.
        lock: held by whoever moves the match on in this process.
    """

    match: Match
    head: Head
    keys: MatchKeys
    last_at_ms: int
    lock: asyncio.Lock
    turn: int | None = None
    turn_since_ms: int = 0


class Advance(Struct, frozen=True):
    """What was committed to a match here, for those who follow it in this process.

    Attributes:
        match: after the events.
        events: of one command.
        encoded: the same, as far as they were encoded for somebody.
    """

    match: Match
    events: Sequence[Event]
    encoded: EventBytes


Told: TypeAlias = "Callable[[str, Advance], None]"


class DamagedMatchError(Problem):
    """What the log holds of a match cannot be folded: somebody, or a fault, has changed it below the service."""

    def __init__(self, match: str) -> None:
        super().__init__("match-damaged", f"The log of {match} was changed since it was written.")


class MissingEventsError(Problem):
    """The log knows how far a match has come, and has no event of it: a part of its tables was taken out."""

    def __init__(self, match: str) -> None:
        super().__init__("unavailable", f"The events of {match} cannot be read; the operator has been told.")


class LiveMatches:
    """The matches that this process has looked at lately. Whatever it forgets, it folds again from the log."""

    def __init__(
        self,
        log: EventLog,
        commitments: Commitments,
        catalogue: Catalogue,
        entropy: Entropy,
        told: Told = lambda _stream, _advance: None,
    ) -> None:
        """Keep matches of a catalogue over a log, and tell of what is committed to one by this process."""
        self._told = told
        self._log = log
        self._commitments = commitments
        self._catalogue = catalogue
        self._entropy = entropy
        self._live = Lately[Live](LIVE_MATCHES_MAX, lambda live: live.lock.locked())
        self._connections = log.connections

    async def get(self, match: str) -> Live | None:
        """Return a match as this process knows it, None if its stream does not exist.

        Raises:
            DamagedMatchError: it cannot be folded.
        """
        self._forget_other_servers()
        live = self._live.get(match)
        if live is None:
            live = await self._load(match)
            if live is None:
                return None
            live = self.keep(live)
        return live

    def keep(self, live: Live) -> Live:
        """Keep a match, as one that has just begun, and return it as it is known from now on."""
        self._forget_other_servers()
        name = live.match.started.match
        known = self._live.get(name)
        if known is None:
            known = live
            self._live.keep(name, live)
        return known

    async def refreshed(self, match: str) -> Live | None:
        """Return a match with everything that other processes have written by now."""
        live = await self.get(match)
        if live is not None:
            await self.catch_up(live)
        return live

    async def catch_up(self, live: Live) -> None:
        """Fold what the stream has beyond the live state.

        Raises:
            DamagedMatchError: it cannot be folded.
        """
        page = await self._log.read_links(live.match.started.match, live.head.version, PAGE_EVENTS)
        await self._follow(live, page, more=len(page) == PAGE_EVENTS)

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
        move: Move | None = None,
        after: Match | None = None,
        encoded: EventBytes | None = None,
    ) -> Outcome:
        """Put decided facts into the log and, when they are in, into the live state.

        Args:
            live: the match, in the state that the facts were decided on.
            facts: what has been decided.
            actor: the player who caused it, or a part of the service.
            command: the command's id.
            at_ms: when it was decided.
            cause: what was asked for, as the record keeps it.
            request_hash: tells two requests under one command id apart.
            answer: makes the bytes that a retry of the command will get, from the chained events.
            move: the move that was asked for, None where it was none.
            after: the match after the facts, where the decision has it at hand; else they are folded.
            encoded: by what the answer has encoded the events, for who else is shown them.
        """
        stream = live.match.started.match
        at_ms = max(at_ms, live.last_at_ms)
        decided_at = live.head
        drafts = [self.draft(live.match, fact) for fact in facts]
        events = chain(
            decided_at, drafts, stream=stream, actor=actor, command=command, at_ms=at_ms, cause=cause
        )
        outcome = await self._log.append(
            Append(
                stream=stream,
                kind=MATCH,
                expected=decided_at,
                events=tuple(events),
                command=command,
                request_hash=request_hash,
                answer=answer(events),
            )
        )
        match outcome:
            case Appended() if after is not None and live.head is decided_at:
                live.match, live.head, live.last_at_ms = after, events[-1].head, at_ms
                _set_clock(live, move, facts, at_ms)
            case Appended():  # a reader may have brought the match forward meanwhile
                self._fold(live, events, facts)
            case Conflict(head=head) if head.version < live.head.version or (
                head.version == live.head.version and head.hash != live.head.hash
            ):
                # The log has lost what we know: whoever comes next folds it anew.
                self._live.forget(stream)
            case Conflict():
                await self.catch_up(live)
            case _:
                pass
        if isinstance(outcome, Appended):
            self._told(stream, Advance(live.match, events, encoded or EventBytes()))
        return outcome

    def draft(self, match: Match, fact: Fact) -> Draft:
        """Return a fact ready for the chain, what spectators may not see sealed with a fresh salt."""
        public = matches.redact(match.rules, fact, SPECTATOR)
        return draft(fact, public, None if public is fact else self._entropy(SALT_BYTES))

    async def _load(self, match: str) -> Live | None:
        page = await self._log.read_links(match, 0, PAGE_EVENTS)
        if not page:
            if await self._log.head_of(match) is None:
                return None
            # It may have begun between the two questions.
            page = await self._log.read_links(match, 0, PAGE_EVENTS)
            if not page:
                _logger.error("the log knows %s and has no event of it; run macao doctor", match)
                raise MissingEventsError(match)
        first = page[0]
        seed = await self._commitments.seed_of(match)
        try:
            begun = matches.fold([fact_of(first)], self._catalogue)
            keys = matches.keys_of(begun, seed)
        except Exception as error:
            raise DamagedMatchError(match) from error
        live = Live(begun, first.head, keys, first.at_ms, asyncio.Lock())
        await self._follow(live, page[1:], more=len(page) == PAGE_EVENTS)
        return live

    async def _follow(self, live: Live, page: list[Link], *, more: bool) -> None:
        """Fold a page of what the stream has beyond the live state and, where there may be more, all behind it."""
        stream = live.match.started.match
        unfinished: list[Link] = []
        while True:
            events = unfinished + page
            # The last command of a full page may go on in the next one; in the middle of it nobody is to act.
            whole = _start_of_last_command(events) if more else len(events)
            events, unfinished = events[:whole], events[whole:]
            try:
                for _, command in groupby(events, _command_of):
                    of_command = list(command)
                    self._fold(live, of_command, [fact_of(event) for event in of_command])
            except Exception as error:
                # Rules are made for what happened; what did not may break them anywhere.
                raise DamagedMatchError(stream) from error
            if events and live.head.version < events[-1].version:
                # A version is missing: what comes behind it stands on nothing.
                raise DamagedMatchError(stream)
            if not more:
                return
            after = unfinished[-1].version if unfinished else live.head.version
            page = await self._log.read_links(stream, after, PAGE_EVENTS)
            more = len(page) == PAGE_EVENTS

    def _fold(self, live: Live, events: Sequence[Event | Link], facts: Sequence[Fact]) -> None:
        """Fold the events of one command that the live state does not have yet."""
        version, digest, at_ms = live.head.version, live.head.hash, live.last_at_ms
        news: list[Fact] = []
        for event, fact in zip(events, facts, strict=True):
            if event.version == version + 1:
                if event.previous != digest:
                    raise DamagedMatchError(live.match.started.match)
                version, digest, at_ms = event.version, event.hash, event.at_ms
                news.append(fact)
        if news:
            live.match = matches.evolve_all(live.match, news)
            live.head, live.last_at_ms = Head(version, digest), at_ms
        if live.head == events[-1].head:
            _set_clock(live, _move_of(live, events[0]), facts, events[0].at_ms)

    def _forget_other_servers(self) -> None:
        """Forget everything if another server may answer by now.

        What was seen on the old one and told to nobody, the new one need not have.
        """
        if self._connections != self._log.connections:
            self._connections = self._log.connections
            self._live.clear()


def _start_of_last_command(events: list[Link]) -> int:
    at = len(events)
    while at and events[at - 1].command == events[-1].command:
        at -= 1
    return at


def _set_clock(live: Live, move: Move | None, facts: Sequence[Fact], at_ms: int) -> None:
    """See who must decide now, and since when, after a command that asked for ``move`` and has led to ``facts``."""
    clock = clock_after(TurnClock(live.turn, live.turn_since_ms), live.match, move, facts, at_ms)
    live.turn, live.turn_since_ms = clock.turn, clock.since_ms


def _move_of(live: Live, first: Event | Link) -> Move | None:
    if first.cause is None:
        return None
    move = msgspec.json.decode(first.cause, type=_Cause).move
    wanted: Move = matches.move_decoder(live.match.rules).decode(move)
    return wanted


class _Cause(Struct, frozen=True):
    seat: int
    move: msgspec.Raw
