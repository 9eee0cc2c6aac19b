"""The command side of matches: starting one, and moving in it. Both are harmless to repeat."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from services.contracts.envelope import Event, Head
from services.contracts.events.base import Fact
from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine.play import wire
from services.engine.play.commitments import Commitments
from services.engine.play.counts import Counts
from services.engine.play.live import Live, LiveMatches
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue, restore_options
from services.engine.rules.kernel import AnyRules, Expire, Move, Refusal
from services.engine.rules.match import Match
from services.runtime.clock import Clock
from services.runtime.log import Appended, Conflict, Duplicate, EventLog, Reused

CONFLICT_RETRIES_MAX: Final = 16
LOBBY: Final = "lobby"
CLOCK: Final = "clock"
DISPUTES: Final = "disputes"

_json: Final = msgspec.json.Encoder().encode


class Done(Struct, frozen=True):
    """The command was carried out; ``replayed`` says that this is the first answer, given again."""

    answer: bytes
    version: int
    replayed: bool = False


class Refused(Struct, frozen=True):
    """The rules forbid the move; ``legal`` is what this seat could have played, at the match's ``version``."""

    refusal: Refusal
    legal: tuple[Any, ...]
    version: int = 0


class Stale(Struct, frozen=True):
    """The match has moved on since the version that the move was chosen at."""

    version: int


class KeyReused(Struct, frozen=True):
    """The idempotency key stands for another request."""


class NotAPlayer(Struct, frozen=True):
    """The caller does not sit in the match."""


class NoSuchMatch(Struct, frozen=True):
    """There is no match with this id."""


class Busy(Struct, frozen=True):
    """Other processes kept moving the same match on; nothing was done, and trying again is safe."""


class Cause(Struct, frozen=True):
    """What a command asked for, as the record keeps it."""

    seat: int
    move: Annotated[Any, Meta(extra_json_schema={"$ref": "#/components/schemas/MadeMove"})]


Plain = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{1,64}\Z")]
"""A name or a seed of the characters that the arithmetic of chance takes."""


class SeatRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A seat of a match to be started."""

    player: Plain
    seed: Plain = "-"
    bot: Plain | None = None


class StartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A match to be started under a commitment that was published before.

    ``options`` are the completed ones that came back with the commitment.
    """

    match_id: str
    table_id: str
    game: str
    options: dict[str, Any]
    seats: tuple[SeatRequest, ...]
    rated: bool
    turn_seconds: Literal[10, 30] | None = None
    visibility: Literal["public", "private"] = "public"


class Moves:
    """Starts matches and takes moves."""

    def __init__(
        self,
        log: EventLog,
        live: LiveMatches,
        commitments: Commitments,
        catalogue: Catalogue,
        clock: Clock,
        counts: Counts | None = None,
    ) -> None:
        """Decide under a catalogue of rules, append to a log, and have the outcomes counted."""
        self._log = log
        self._live = live
        self._commitments = commitments
        self._catalogue = catalogue
        self._clock = clock
        self._counts = counts

    async def start(
        self, request: StartRequest, command: str, request_hash: bytes
    ) -> Done | Refused | KeyReused | NoSuchMatch:
        """Start a match, once: the stream's first version can be written only once, whoever asks how often.

        Asking again for a match that runs already answers as the first time did.
        """
        commitment = await self._commitments.find(request.match_id)
        if commitment is None:
            return NoSuchMatch()
        rules = self._catalogue.game(request.game)
        if rules is None:
            return Refused(Refusal("unknown-game", "G1", {"game": request.game}), ())
        options = restore_options(rules, request.options, len(request.seats))
        if isinstance(options, Refusal):
            return Refused(options, ())
        started = MatchStarted(
            match=request.match_id,
            table=request.table_id,
            game=rules.name,
            rules_version=rules.version,
            options=Raw(_json(options)),
            seats=tuple(SeatTaken(seat.player, seat.seed, seat.bot) for seat in request.seats),
            turn_seconds=request.turn_seconds,
            rated=request.rated,
            visibility=request.visibility,
            commitment=commitment.commitment,
            commitment_number=commitment.number,
        )
        match = matches.begin(started, self._catalogue)
        keys = matches.keys_of(match, await self._commitments.seed_of(request.match_id))
        live = Live(match, Head(), keys, 0, asyncio.Lock())
        outcome = await self._live.append(
            live,
            (started, *matches.open_match(match, keys)),
            actor=LOBBY,
            command=command,
            at_ms=self._clock.now_ms(),
            cause=None,
            request_hash=request_hash,
            answer=lambda events: _json(wire.Started(request.match_id, events[-1].version)),
        )
        match outcome:
            case Appended():
                self._live.keep(live)
                return Done(_json(wire.Started(request.match_id, outcome.version)), outcome.version)
            case Duplicate():
                return Done(outcome.answer, outcome.version, replayed=True)
            case Reused():
                return KeyReused()
            case Conflict():
                return Done(
                    _json(wire.Started(request.match_id, outcome.head.version)),
                    outcome.head.version,
                    replayed=True,
                )

    async def rules_of(self, match: str) -> AnyRules | None:
        """Return the rules that a match is played under, None if there is no such match."""
        live = await self._live.get(match)
        return None if live is None else live.match.rules

    async def move(
        self, match: str, player: str, move: Move, *, if_match: int | None, command: str, request_hash: bytes
    ) -> Done | Refused | Stale | KeyReused | NotAPlayer | NoSuchMatch | Busy:
        """Carry out a player's move.

        ``if_match`` is the version that the move was chosen at, None for moves that need none.
        """
        live = await self._live.get(match)
        if live is None:
            return NoSuchMatch()
        seat = live.match.seat_of(player)
        if seat is None:
            return NotAPlayer()
        async with live.lock:
            for _ in range(CONFLICT_RETRIES_MAX):
                done = await self._try(live, seat, player, move, if_match, command, request_hash)
                if done is not None:
                    if self._counts is not None:
                        self._counts.move(live.match.rules.name, _outcome(done))
                    return done
        return Busy()

    async def expire(self, match: str, seat: int, since_ms: int) -> bool:
        """Eliminate the player whose clock has run since then; say whether it came to that.

        Nothing happens if somebody has moved meanwhile. Several processes may ask: the command's id is the same.
        """
        live = await self._live.refreshed(match)
        if live is None:
            return False
        async with live.lock:
            command = f"clock:{match}:{live.head.version}"
            if (live.turn, live.turn_since_ms) != (seat, since_ms):
                return False
            facts = matches.decide(live.match, seat, Expire(), live.keys)
            if isinstance(facts, Refusal):
                return False
            outcome = await self._live.append(
                live,
                facts,
                actor=CLOCK,
                command=command,
                at_ms=self._clock.now_ms(),
                cause=_json(Cause(seat, Expire())),
                request_hash=sha256(command.encode()).digest(),
                answer=lambda _: b"{}",
            )
        return isinstance(outcome, Appended)

    async def void(self, match: str, reason: str, command: str) -> bool:
        """Make a match not count, running or ended; say whether it does not count any more.

        It is written once, whoever asks how often, for whatever reason: a match that is void stays as it is.
        """
        live = await self._live.refreshed(match)
        if live is None:
            return False
        async with live.lock:
            for _ in range(CONFLICT_RETRIES_MAX):
                facts = matches.void(live.match, reason, live.keys)
                if not facts:
                    return True
                outcome = await self._live.append(
                    live,
                    facts,
                    actor=DISPUTES,
                    command=command,
                    at_ms=self._clock.now_ms(),
                    cause=None,
                    request_hash=sha256(command.encode()).digest(),
                    answer=lambda _: b"{}",
                )
                if isinstance(outcome, Duplicate):
                    await self._live.catch_up(live)
        return False

    async def _try(
        self,
        live: Live,
        seat: int,
        player: str,
        move: Move,
        if_match: int | None,
        command: str,
        request_hash: bytes,
    ) -> Done | Refused | Stale | KeyReused | None:
        decided_at = live.head
        advanced = self._advance(live, seat, move, if_match)
        if not isinstance(advanced, tuple):
            return await self._why_not(live, decided_at, advanced, command, request_hash)
        facts, after = advanced
        answers: list[bytes] = []
        encoded = wire.EventBytes()

        def answer(events: list[Event]) -> bytes:
            answers.append(wire.move_answer(after, seat, events, encoded))
            return answers[0]

        outcome = await self._live.append(
            live,
            facts,
            actor=player,
            command=command,
            at_ms=self._clock.now_ms(),
            cause=_json(Cause(seat, move)),
            request_hash=request_hash,
            answer=answer,
            move=move,
            after=after,
            encoded=encoded,
        )
        match outcome:
            case Appended():
                return Done(answers[0], outcome.version)
            case Duplicate():
                return Done(outcome.answer, outcome.version, replayed=True)
            case Reused():
                return KeyReused()
            case Conflict():
                return None

    def _advance(
        self, live: Live, seat: int, move: Move, if_match: int | None
    ) -> tuple[tuple[Fact, ...], Match] | Refused | Stale:
        if if_match is not None and if_match != live.head.version:
            return Stale(live.head.version)
        advanced = matches.advance(live.match, seat, move, live.keys)
        if isinstance(advanced, Refusal):
            return Refused(advanced, matches.legal(live.match, seat), live.head.version)
        return advanced

    async def _why_not(
        self,
        live: Live,
        decided_at: Head,
        negative: Refused | Stale,
        command: str,
        request_hash: bytes,
    ) -> Done | Refused | Stale | KeyReused | None:
        """Before saying no, see whether this is a retry of what was done, and whether others have moved meanwhile.

        None: the match is further than where the no was decided, so it has to be decided anew. Readers may have
        brought the live match forward at any moment since, as they do not hold its lock.
        """
        known = await self._log.find_command(command, live.match.started.match)
        if known is not None:
            if known.request_hash != request_hash:
                return KeyReused()
            return Done(known.answer, known.version, replayed=True)
        await self._live.catch_up(live)
        return negative if live.head == decided_at else None


def _outcome(done: Done | Refused | Stale | KeyReused) -> str:
    match done:
        case Done():
            return "replayed" if done.replayed else "accepted"
        case Refused():
            return done.refusal.code
        case Stale():
            return "stale-version"
        case KeyReused():
            return "idempotency-key-reused"
