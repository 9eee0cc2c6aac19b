"""The case file of a dispute: everything that a ruling needs, put together from the record and the commands log.

Pure: events and entries go in, a file comes out. What a viewer may not know is not in it: while the match runs, a
seated player's file shows what that seat sees, an auditor's what spectators see, and refused commands of other players
are left out. After the end every file is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Raw, Struct

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import encode
from services.contracts.events.dispute import Arrived
from services.contracts.events.match import PlayerEliminated, RoundEnded, RoundStarted
from services.contracts.problems import PROBLEMS
from services.engine.disputes.clauses import Clause, clauses_of, quoted
from services.engine.disputes.dispute import Dispute
from services.engine.disputes.drawing import Drawing, drawings_of
from services.engine.disputes.hearsay import Line, cause_of, lines_of
from services.engine.disputes.speech import Speech
from services.engine.play.views import Watcher
from services.engine.replay import Replay, Step
from services.engine.rules import match as matches
from services.engine.rules.kernel import Move, Refusal, Viewer
from services.engine.rules.thinking_time import TurnClock, after
from services.engine.words.positions import position

Again = Callable[[Step, int, Move], Refusal | None]
"""Decides a refused move again, in the position after a step; None: it would be accepted."""

NOT_BY_RULES: Final = "not by the rules"
WHO_WAS_FIRST: Final = "G13"
NO_MOVE: Final = "G16"

BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "CP-2.1": ("CP-2.2", "CP-2.4"),
    "CP-6.4": ("CP-6.2", "CP-6.7"),
    "CP-6.5": ("CP-6.1", "CP-6.2", "CP-6.7"),
    "PT-2.1": ("PT-2.2", "PT-2.5"),
}
"""What has to be read beside the clause that a refusal cites, to understand it."""


class CaseSeat(Struct, frozen=True):
    """Who sat where. ``name`` is null for a bot, and for a player who is not known any more."""

    seat: int
    player: str
    name: str | None
    bot: str | None


class Complaint(Struct, frozen=True):
    """Who complains, and of what.

    Attributes:
        version: the disputed event, or the version at which a command was refused.
        event_hash: the hash of that event when the dispute was opened.
        event_unchanged: whether the record still has the event with this hash.
    """

    seat: int
    version: int
    text: str
    opened_at_ms: int
    event_hash: str
    event_unchanged: bool


class CasePosition(Struct, frozen=True):
    """The table right before; ``words`` has a sentence for each thing to be seen, ``view`` is in the game's shape."""

    version: int
    words: tuple[str, ...]
    view: Any


class Options(Struct, frozen=True):
    """What one seat could have played then."""

    seat: int
    moves: tuple[Any, ...]
    words: tuple[str, ...]


class CaseEvent(Struct, frozen=True):
    """One event in words; ``disputed`` marks the one that the complaint is about."""

    version: int
    type: str
    words: str
    data: Raw
    hash: str
    disputed: bool


class RefusedMove(Struct, frozen=True):
    """The command that was refused, and whether the rules still say so.

    Attributes:
        words: what was asked for.
        code: why it was refused, as the problem catalogue has it, and its title.
        clause: the clause that was cited.
        again: what the rules say when the move is decided once more in the same position: the code, ``accepted``, or
            ``not by the rules`` for a refusal on other grounds (a version that had passed, an unreadable request).
        confirmed: whether that is the refusal that was given; None where the rules had no say.
    """

    words: str
    move: dict[str, Any] | None
    code: str
    title: str
    clause: str | None
    again: str
    confirmed: bool | None


class Timing(Struct, frozen=True):
    """The clock of a player who ran out of time (G10).

    Attributes:
        since_ms: since when the player had to decide, and after which event.
        allowed_ms: the time for a move.
        down_ms: for how long the service itself was down meanwhile; this is given back.
        taken_ms: the time that the player had until the end was recorded, without that.
        kept: whether the player really had all the time that was due.
    """

    seat: int
    since_ms: int
    since_version: int
    allowed_ms: int
    down_ms: int
    taken_ms: int
    kept: bool


class Audit(Struct, frozen=True):
    """The audit of the whole match. ``first_bad_version`` is the first event that is wrong, null when none is."""

    sound: bool
    first_bad_version: int | None
    events: int
    commands: int
    draws: int
    findings: tuple[str, ...]


class Ruled(Struct, frozen=True):
    """The ruling, with the auditor's name where it is known."""

    auditor: str
    auditor_name: str | None
    at_ms: int
    verdict: str
    match: str
    reasons: str


class CaseFile(Struct, frozen=True):
    """The case file of a dispute.

    Attributes:
        complete: false while the match runs: then it shows what ``seen_by`` may know.
        seen_by: whose view it is: ``seat N``, ``spectator`` or ``everybody``.
        headline: the disputed event, or the refusal, in a sentence.
        at_ms: when the command behind it came in; all offsets are from then.
        position: the table right before, null for the opening of the match.
        legal: what could have been played there, by those of whom the viewer may know it.
        preceding: for a refused command, what had happened right before.
        events: what the disputed command led to; for a refused command, what happened next.
        refused: the refused command, where the dispute is about one.
        clauses: the rules that speak of it, in their own words.
        chance: what was drawn, and the proof.
        timing: the clock, where time ran out.
        commands: who sent what around it, in the order in which it came in.
        left_out: whether refused commands of other players are left out until the match is over.
        audit: null while the match runs.
    """

    id: str
    match_id: str
    game: str
    title: str
    rules: str
    status: str
    state: str
    complete: bool
    seen_by: str
    seats: tuple[CaseSeat, ...]
    complaint: Complaint
    headline: str
    at_ms: int
    position: CasePosition | None
    legal: tuple[Options, ...]
    preceding: tuple[CaseEvent, ...]
    events: tuple[CaseEvent, ...]
    refused: RefusedMove | None
    clauses: tuple[Clause, ...]
    chance: tuple[Drawing, ...]
    timing: Timing | None
    commands: tuple[Line, ...]
    left_out: bool
    audit: Audit | None
    ruling: Ruled | None


class Evidence(Struct, frozen=True):
    """What a case file is made from, besides the dispute itself.

    Attributes:
        replay: the match, as far as it has come.
        watcher: who reads.
        names: the names of players by their ids.
        arrivals: what the commands log and the dispute itself hold, in order.
        outages: times in which the service was down, from and to (ms).
        again: decides a refused move again.
        audit: of the whole match, None while it runs.
    """

    replay: Replay
    watcher: Watcher
    names: dict[str, str]
    arrivals: Sequence[Arrived]
    outages: Sequence[tuple[int, int]]
    again: Again
    audit: Audit | None


def case_file(dispute: Dispute, evidence: Evidence) -> CaseFile:
    """Put the case file of a dispute together."""
    replay, viewer = evidence.replay, evidence.watcher.viewer
    opened, now = dispute.opened, replay.at(replay.last).match
    speech = Speech(replay.started, evidence.names)
    disputed = replay.at(min(opened.version, replay.last))
    refused = opened.refused
    command = _command_at(replay, opened.version if refused is None else opened.version + 1)
    before = _before(replay, command) if refused is None else disputed
    leading = _command_at(replay, disputed.version) if refused is not None else []
    facts = [_fact(step, viewer) for step in command]
    subject = disputed.event.command if refused is None else refused.command
    lines = lines_of(
        replay, evidence.arrivals, subject, refused, None if now.over else evidence.watcher.seat, speech,
        complete=now.over,
    )  # fmt: skip
    return CaseFile(
        id=dispute.id,
        match_id=opened.match,
        game=replay.started.game,
        title=now.rules.title,
        rules=now.rules.id,
        status=now.status,
        state=dispute.state,
        complete=now.over,
        seen_by="everybody" if now.over else f"seat {viewer}" if isinstance(viewer, int) else viewer,
        seats=tuple(
            CaseSeat(at, seat.player, evidence.names.get(seat.player), seat.bot)
            for at, seat in enumerate(replay.started.seats)
        ),
        complaint=Complaint(
            seat=opened.seat,
            version=opened.version,
            text=dispute.complaint,
            opened_at_ms=dispute.opened_at_ms,
            event_hash=opened.event_hash,
            event_unchanged=disputed.event.hash.hex() == opened.event_hash,
        ),
        headline=_headline(disputed, refused, opened.seat, speech, viewer),
        at_ms=next((line.at_ms for line in lines if line.subject), disputed.event.at_ms),
        position=None if before is None else _position(before, viewer, speech),
        legal=() if before is None else _legal(before, evidence.watcher, speech, complete=now.over),
        preceding=_events(leading, [_fact(step, viewer) for step in leading], None, speech),
        events=_events(command, facts, None if refused else opened.version, speech),
        refused=None if refused is None else _refused(refused, opened.seat, disputed, evidence, speech),
        clauses=quoted(
            replay.started.game, _clauses(replay.started.game, disputed, command, refused, speech, viewer)
        ),
        chance=()
        if refused is not None or not command
        else drawings_of(replay.steps, _near(command, opened.version), viewer),
        timing=None if refused is not None else _timing(replay, command, evidence.outages),
        commands=lines,
        left_out=not now.over,
        audit=evidence.audit,
        ruling=None
        if dispute.ruling is None
        else Ruled(
            auditor=dispute.ruling.auditor,
            auditor_name=evidence.names.get(dispute.ruling.auditor),
            at_ms=dispute.ruling.at_ms,
            verdict=dispute.ruling.verdict,
            match=dispute.ruling.match,
            reasons=dispute.ruling.reasons,
        ),
    )


def _command_at(replay: Replay, version: int) -> list[Step]:
    """Return all steps of the command that an event belongs to; none beyond the end."""
    if version > replay.last:
        return []
    name = replay.at(version).event.command
    first = version
    while first > 1 and replay.at(first - 1).event.command == name:
        first -= 1
    last = version
    while last < replay.last and replay.at(last + 1).event.command == name:
        last += 1
    return [replay.at(at) for at in range(first, last + 1)]


def _before(replay: Replay, command: Sequence[Step]) -> Step | None:
    return replay.at(command[0].version - 1) if command and command[0].version > 1 else None


def _near(command: Sequence[Step], version: int) -> list[Step]:
    """Return the step of the disputed event where it holds a draw; else its command up to there."""
    own = [step for step in command if step.version == version and hasattr(step.fact, "draw")]
    return own or [step for step in command if step.version <= version]


def _fact(step: Step, viewer: Viewer) -> Fact:
    return matches.redact(step.match.rules, step.fact, viewer)


def _headline(disputed: Step, refused: Arrived | None, seat: int, speech: Speech, viewer: Viewer) -> str:
    if refused is None:
        return speech.sentence(_fact(disputed, viewer))
    kind = PROBLEMS.get(refused.code or "")
    asked = speech.asked(disputed.match.rules, refused.move)
    return f'{speech.name(seat)} was refused to {asked}: "{kind.title if kind else refused.code}"'


def _position(before: Step, viewer: Viewer, speech: Speech) -> CasePosition:
    view = before.match.rules.observe(before.match.game, viewer)
    return CasePosition(before.version, position(view, speech.name), view)


def _legal(before: Step, watcher: Watcher, speech: Speech, *, complete: bool) -> tuple[Options, ...]:
    """Return what could have been played; while the match runs, by the viewer's own seat only."""
    waiting = matches.pending(before.match)
    seats = waiting.may_act if waiting else ()
    return tuple(
        Options(seat, moves, tuple(speech.move(move) for move in moves))
        for seat in seats
        if complete or seat == watcher.seat
        for moves in [matches.legal(before.match, seat)]
    )


def _events(
    command: Sequence[Step], facts: Sequence[Fact], disputed: int | None, speech: Speech
) -> tuple[CaseEvent, ...]:
    return tuple(
        CaseEvent(
            version=step.version,
            type=step.event.type,
            words=speech.sentence(fact),
            data=Raw(encode(fact)),
            hash=step.event.hash.hex(),
            disputed=step.version == disputed,
        )
        for step, fact in zip(command, facts, strict=True)
    )


def _refused(refused: Arrived, seat: int, disputed: Step, evidence: Evidence, speech: Speech) -> RefusedMove:
    code = refused.code or ""
    kind = PROBLEMS.get(code)
    again, confirmed = NOT_BY_RULES, None
    move = speech.decoded(disputed.match.rules, refused.move)
    if move is not None and refused.clause is not None:
        refusal = evidence.again(disputed, seat, move)
        again = "accepted" if refusal is None else refusal.code
        confirmed = refusal is not None and (refusal.code, refusal.clause) == (code, refused.clause)
    return RefusedMove(
        words=speech.asked(disputed.match.rules, refused.move),
        move=refused.move,
        code=code,
        title=kind.title if kind else code,
        clause=refused.clause,
        again=again,
        confirmed=confirmed,
    )


def _clauses(
    game: str,
    disputed: Step,
    command: Sequence[Step],
    refused: Arrived | None,
    speech: Speech,
    viewer: Viewer,
) -> list[str]:
    """Return the numbers of the clauses to quote: of the refusal, or of the event and the move behind it."""
    if refused is not None:
        move = speech.decoded(disputed.match.rules, refused.move)
        racing = (WHO_WAS_FIRST,) if move is not None and move.ANY_VERSION else ()
        return [refused.clause or NO_MOVE, *racing, *BESIDE.get(refused.clause or "", ())]
    numbers = list(clauses_of(game, _fact(disputed, viewer)))
    earlier = [step for step in command if step.version < disputed.version]
    # The move that a new round follows from has nothing to do with how that round begins.
    if not any(isinstance(step.fact, RoundEnded | RoundStarted) for step in earlier):
        for step in earlier:
            numbers += clauses_of(game, _fact(step, viewer))
    return numbers


def _timing(replay: Replay, command: Sequence[Step], outages: Sequence[tuple[int, int]]) -> Timing | None:
    gone = next(
        (
            step
            for step in command
            if isinstance(step.fact, PlayerEliminated) and step.fact.reason == "timeout"
        ),
        None,
    )
    seconds = replay.started.turn_seconds
    if gone is None or seconds is None or not isinstance(gone.fact, PlayerEliminated):
        return None
    clock, since_version = TurnClock(), 1
    for group in _commands(replay.steps[: command[0].version - 1]):
        facts, first = [step.fact for step in group], group[0].event
        later = after(clock, group[-1].match, _move_of(group[0]), facts, first.at_ms)
        if later != clock:
            clock, since_version = later, group[-1].version
    at_ms, since_ms = gone.event.at_ms, clock.since_ms
    down_ms = sum(
        min(to_ms, at_ms) - max(from_ms, since_ms)
        for from_ms, to_ms in outages
        if to_ms > since_ms and from_ms < at_ms
    )
    taken_ms = at_ms - since_ms - down_ms
    return Timing(
        gone.fact.seat, since_ms, since_version, seconds * 1000, down_ms, taken_ms, taken_ms >= seconds * 1000
    )


def _commands(steps: Sequence[Step]) -> list[list[Step]]:
    groups: list[list[Step]] = []
    for step in steps:
        if groups and groups[-1][0].event.command == step.event.command:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _move_of(first: Step) -> Move | None:
    cause = cause_of(first)
    return None if cause is None else matches.move_decoder(first.match.rules).decode(cause.move)
