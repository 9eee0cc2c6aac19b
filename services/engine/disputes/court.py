"""What is done with disputes: opened, withdrawn, ruled on, and rulings carried out. All of it harmless to repeat.

A ruling that voids a match is two appends to two streams: ``dispute-ruled`` first, then ``match-voided``. Whoever comes
between them (the same request again, a reader, the bailiff of any process) finds the first and does the second.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from services.contracts.chain import SALT_BYTES
from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.dispute import Arrived, DisputeOpened, DisputeRuled, DisputeWithdrawn, Words
from services.contracts.ids import DISPUTE, ENTROPY_BYTES, is_id, make_id
from services.engine.disputes.command_log import CommandLog
from services.engine.disputes.dispute import WINDOW_MS, Dispute, fold
from services.engine.disputes.docket import Docket
from services.engine.disputes.words import DisputeWords
from services.engine.play.live import Live
from services.engine.play.moves import Moves
from services.engine.play.views import Views
from services.runtime.clock import Clock, Entropy
from services.runtime.log import Append, Appended, Conflict, Duplicate, EventLog, Reused
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

EVENTS_MAX: Final = 100
"""Events of one dispute; there are two at most."""

EVIDENCE_MS: Final = 120_000
"""How far around the disputed event the commands log is kept as evidence."""

EVIDENCE_MAX: Final = 32
"""How many commands up to the event, and how many after it."""

TRIES_MAX: Final = 4
BAILIFF_SECONDS: Final = 2.0

_logger: Final = logging.getLogger(__name__)
_encode: Final = msgspec.json.Encoder().encode


class Written(Struct, frozen=True):
    """What a retry of a command is answered from."""

    dispute: str


class Outcome(Struct, frozen=True):
    """A command on a dispute that was carried out; ``replayed`` says that it had been before."""

    dispute: Dispute
    replayed: bool = False


class Court:
    """Takes complaints and rulings."""

    def __init__(
        self,
        log: EventLog,
        docket: Docket,
        words: DisputeWords,
        commands: CommandLog,
        views: Views,
        moves: Moves,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        """Work on disputes in a log."""
        self._log = log
        self._docket = docket
        self._words = words
        self._commands = commands
        self._views = views
        self._moves = moves
        self._clock = clock
        self._entropy = entropy

    async def find(self, dispute: str) -> Dispute | None:
        """Return a dispute, with its ruling carried out; None if there is none of that id."""
        if not is_id(DISPUTE, dispute):
            return None
        found = await self._load(dispute)
        if found is not None and found.void_is_due:
            await self._carry_out(found)
        return found

    async def of_match(self, match: str) -> list[Dispute]:
        """Return the disputes of a match, oldest first."""
        found = [await self._load(dispute) for dispute in await self._docket.of_match(match)]
        return [dispute for dispute in found if dispute is not None]

    async def open(
        self,
        live: Live,
        seat: int,
        version: int,
        complaint: str,
        refused_command: str | None,
        command: Command,
    ) -> Outcome:
        """Open a dispute of the player in a seat about an event, or about an own command that was refused.

        Raises:
            Problem: it cannot be opened, and why.
        """
        done = await self._done_before(command)
        if done is not None:
            return done
        self._check_open(live)
        refused = await self._refused(live, refused_command)
        version = version if refused is None else refused.version or version
        if not 1 <= version <= live.head.version:
            raise Problem(
                "no-such-event",
                f"The match has the events 1 to {live.head.version}.",
                params={"version": version, "last": live.head.version},
            )
        events = await self._views.events(live, version - 1, 1)
        player = live.match.started.seats[seat].player
        now_ms = self._clock.now_ms()
        reserved = await self._docket.reserve(
            make_id(DISPUTE, now_ms, self._entropy(ENTROPY_BYTES)), live.match.started.match, version,
            (refused.command or "") if refused is not None else "", player, command.id, now_ms,
        )  # fmt: skip
        if reserved.outcome == "exists":
            raise Problem("dispute-exists")
        if reserved.outcome == "too-many":
            raise Problem("disputes-exhausted")
        at_ms = events[0].at_ms if refused is None else refused.at_ms
        said = await self._words.keep(
            complaint, "complaint", dispute=reserved.dispute, author=player,
            players=[each.player for each in live.match.started.seats],
        )  # fmt: skip
        opened = DisputeOpened(
            match=live.match.started.match, version=version, event_hash=events[0].hash.hex(), seat=seat,
            player=player, complaint=said, refused=refused, arrivals=await self._evidence(live, at_ms),
        )  # fmt: skip
        public = replace(opened, complaint=Words(""), refused=None, arrivals=())
        try:
            done = await self._append(reserved.dispute, Head(), opened, public, player, command, now_ms)
        except _MovedOnError:
            await self._words.drop(said)
            raise Problem("unavailable", "The dispute is being opened already.") from None
        if done.replayed:
            await self._words.drop(said)
        return done

    async def withdraw(self, dispute: Dispute, player: str, command: Command) -> Outcome:
        """Take a complaint back.

        Raises:
            Problem: it is another's, or closed.
        """
        return await self._close(dispute, DisputeWithdrawn(), player, command)

    async def rule(
        self,
        dispute: Dispute,
        live: Live,
        auditor: str,
        verdict: Literal["upheld", "dismissed"],
        match: Literal["stands", "void"],
        reasons: str,
        command: Command,
    ) -> Outcome:
        """Rule on a dispute; where the match is void, see to it that it is.

        Raises:
            Problem: the dispute is closed.
        """
        said = await self._words.keep(
            reasons, "reasons", dispute=dispute.id, author=auditor,
            players=[each.player for each in live.match.started.seats],
        )  # fmt: skip
        try:
            done = await self._close(dispute, DisputeRuled(verdict, match, said), auditor, command)
        except Problem as problem:
            if problem.code != "unavailable":  # then it may have been written all the same
                await self._words.drop(said)
            raise
        if done.replayed:
            await self._words.drop(said)
        if done.dispute.void_is_due:
            await self._carry_out(done.dispute)
        return done

    async def run(self) -> None:
        """Carry out rulings that whoever ruled could not: the bailiff. Runs until cancelled, in every process."""
        while True:
            try:
                due = await self._docket.voids_due()
            except Exception as error:  # noqa: BLE001 - whatever is away comes back, and the work goes on
                due = []
                _logger.warning("rulings could not be looked for: %r", error)
            for dispute in due:
                try:
                    await self.find(dispute)
                except Exception as error:  # noqa: BLE001 - as above; one ruling's trouble is not the others'
                    _logger.warning("the ruling on %s waits to be carried out: %r", dispute, error)
            await asyncio.sleep(BAILIFF_SECONDS)

    def _check_open(self, live: Live) -> None:
        match = live.match
        if match.status == "voided":
            raise Problem("match-void")
        if match.over and self._clock.now_ms() - live.last_at_ms > WINDOW_MS:
            raise Problem("dispute-too-late", params={"ended_at_ms": live.last_at_ms})

    async def _refused(self, live: Live, command: str | None) -> Arrived | None:
        """Return the caller's own refused command that the dispute is to be about."""
        if command is None:
            return None
        await self._commands.flush()
        found = await self._commands.find(live.match.started.match, command)
        if found is None or found.code is None:
            raise Problem("no-such-refusal")
        if found.version is not None:
            return found
        # It was refused before the match was looked at: what counts is how the match stood then.
        events = await self._views.events(live, 0, live.head.version)
        before = [event.version for event in events if event.at_ms <= found.at_ms]
        return replace(found, version=before[-1] if before else 1)

    async def _evidence(self, live: Live, at_ms: int) -> tuple[Arrived, ...]:
        """Return what the commands log holds around a moment, so that it is kept with the dispute."""
        await self._commands.flush()
        started = live.match.started
        players = [seat.player for seat in started.seats]
        from_ms, to_ms = at_ms - EVIDENCE_MS, at_ms + EVIDENCE_MS
        found = await self._commands.around(started.match, players, from_ms, at_ms, to_ms, EVIDENCE_MAX)
        return tuple(each for at, each in enumerate(found) if each not in found[:at])

    async def _done_before(self, command: Command) -> Outcome | None:
        known = await self._log.find_command(command.id)
        if known is None:
            return None
        if known.request_hash != command.hash or not is_id(DISPUTE, known.stream):
            raise Problem("idempotency-key-reused")
        dispute = await self._load(known.stream, known.version)
        if dispute is None:
            raise Problem("unavailable")
        return Outcome(dispute, replayed=True)

    async def _close(self, dispute: Dispute, fact: Fact, actor: str, command: Command) -> Outcome:
        for _ in range(TRIES_MAX):
            # In this order: a retry that finds the dispute closed by its own first sending has to find that as well.
            now = await self._load(dispute.id)
            done = await self._done_before(command)
            if done is not None:
                return done
            if now is None or now.state != "open":
                raise Problem("dispute-closed", params={"state": "open" if now is None else now.state})
            if isinstance(fact, DisputeWithdrawn) and now.opened.player != actor:
                raise Problem("not-your-dispute")
            at_ms = max(self._clock.now_ms(), now.opened_at_ms)
            try:
                return await self._append(dispute.id, now.head, fact, fact, actor, command, at_ms)
            except _MovedOnError:
                continue
        raise Problem("unavailable", "Others kept working on the same dispute.")

    async def _append(
        self, dispute: str, head: Head, fact: Fact, public: Fact, actor: str, command: Command, at_ms: int
    ) -> Outcome:
        drafted = draft(fact, public, self._entropy(SALT_BYTES))
        events = chain(
            head, [drafted], stream=dispute, actor=actor, command=command.id, at_ms=at_ms, cause=None
        )
        outcome = await self._log.append(
            Append(
                stream=dispute,
                kind=DISPUTE,
                expected=head,
                events=tuple(events),
                command=command.id,
                request_hash=command.hash,
                answer=_encode(Written(dispute)),
            )
        )
        match outcome:
            case Appended() | Duplicate():
                return await self._entered(dispute, events, outcome)
            case Reused():
                raise Problem("idempotency-key-reused")
            case Conflict():
                raise _MovedOnError

    async def _entered(self, dispute: str, events: list[Event], outcome: Appended | Duplicate) -> Outcome:
        if isinstance(outcome, Appended):
            await self._docket.enter_now(events)
        found = await self._load(dispute, outcome.version)
        if found is None:
            raise Problem("unavailable")
        return Outcome(found, replayed=isinstance(outcome, Duplicate))

    async def _load(self, dispute: str, version: int = EVENTS_MAX) -> Dispute | None:
        page = await self._log.read_stream(dispute, 0, version)
        found = fold(recorded.event for recorded in page)
        return None if found is None else await self._words.spoken(found)

    async def _carry_out(self, dispute: Dispute) -> None:
        """Make the match void, once; it is said nowhere but in the match's stream that it is."""
        reason = f"ruled so in the dispute {dispute.id}"
        if await self._moves.void(dispute.opened.match, reason, f"void:{dispute.id}"):
            await self._docket.void_done(dispute.id)


class _MovedOnError(Exception):
    """Somebody else wrote to the dispute first."""
