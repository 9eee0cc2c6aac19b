"""Who sent what, when, and what came of it: events and the commands log brought into one order.

Accepted commands are in the events, with the time at which they were decided. The commands log adds when they came in,
and what was refused. Where the log has nothing (it is beside the truth, and bounded), the time of the decision stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from services.contracts.events.dispute import Arrived
from services.contracts.problems import PROBLEMS
from services.engine.disputes.speech import Speech
from services.engine.replay import Replay, Step

BEFORE_MAX: Final = 8
AFTER_MAX: Final = 6


class Line(Struct, frozen=True):
    """A command.

    Attributes:
        at_ms: when it came in, Unix time in milliseconds; see ``clocked``.
        offset_ms: the same, counted from the command that is disputed.
        clocked: true where it is the time of arrival; false where only the time of the decision is known, as for the
            service's own commands.
        seat: of whoever sent it, null for the service itself.
        who: the same by name.
        sent: what was asked for, in few words.
        accepted: whether it led to events.
        answer: what was answered, in words.
        code: why it was refused.
        clause: by which clause.
        version: the match's version after an accepted command; for a refused one, where it was refused.
        subject: whether this is the command that the dispute is about.
    """

    at_ms: int
    offset_ms: int
    clocked: bool
    seat: int | None
    who: str
    sent: str
    accepted: bool
    answer: str
    code: str | None
    clause: str | None
    version: int | None
    subject: bool


class Cause(Struct):
    """The move behind a command, as the record keeps it."""

    seat: int
    move: Raw


_decode_cause: Final = msgspec.json.Decoder(Cause).decode


def lines_of(
    replay: Replay,
    arrivals: Sequence[Arrived],
    subject: str | None,
    refused: Arrived | None,
    seat: int | None,
    speech: Speech,
    *,
    complete: bool,
) -> tuple[Line, ...]:
    """Return the commands around the disputed one, in the order in which they came in.

    Args:
        replay: the match.
        arrivals: what is known from the commands log.
        subject: the id of the disputed command.
        refused: the disputed command itself, where it was refused.
        seat: the seat of the reader, whose refused commands are shown in any case.
        speech: the names.
        complete: whether refused commands of everybody may be shown.
    """
    first_arrival = {each.command: each for each in reversed(arrivals) if each.command is not None}
    rows = [_accepted(group, first_arrival, subject, speech) for group in _groups(replay)]
    shown = [*arrivals, *([refused] if refused is not None and refused not in arrivals else [])]
    for each in shown:
        sender = speech.seat_of(each.player)
        # By complaining, a player tells an auditor of the refused command as well.
        if sender is not None and (complete or sender == seat or each == refused):
            first = each.command is not None and first_arrival.get(each.command) == each
            line = _refused(each, replay, subject, sender, speech, first=first)
            if line is not None:
                rows.append(line)
    rows.sort(key=lambda line: (line.at_ms, line.version or 0, not line.accepted))
    at = next((number for number, line in enumerate(rows) if line.subject), len(rows) - 1)
    zero_ms = rows[at].at_ms
    near = rows[max(0, at - BEFORE_MAX) : at + AFTER_MAX + 1]
    return tuple(msgspec.structs.replace(line, offset_ms=line.at_ms - zero_ms) for line in near)


def cause_of(first: Step) -> Cause | None:
    """Return the cause of a command from its first step, None for what the service did by itself."""
    return None if first.event.cause is None else _decode_cause(first.event.cause)


def _groups(replay: Replay) -> list[list[Step]]:
    groups: list[list[Step]] = []
    for step in replay.steps:
        if groups and groups[-1][0].event.command == step.event.command:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _accepted(
    group: Sequence[Step], arrivals: dict[str, Arrived], subject: str | None, speech: Speech
) -> Line:
    event, last = group[0].event, group[-1].version
    arrived = arrivals.get(event.command)
    if arrived is not None and arrived.code is not None:
        arrived = None
    which = f"event {last}" if len(group) == 1 else f"events {event.version} to {last}"
    sent = "the match to be started" if event.version == 1 else "the match to be void"
    cause = cause_of(group[0])
    if cause is not None:
        asked = msgspec.json.decode(cause.move, type=dict[str, Any])
        sent = "time to be up" if event.actor == "clock" else speech.asked(group[0].match.rules, asked)
    return Line(
        at_ms=event.at_ms if arrived is None else arrived.at_ms,
        offset_ms=0,
        clocked=arrived is not None,
        seat=speech.seat_of(event.actor),
        who=speech.who(event.actor),
        sent=sent,
        accepted=True,
        answer=f"accepted: {which}",
        code=None,
        clause=None,
        version=last,
        subject=event.command == subject,
    )


def _refused(
    arrived: Arrived, replay: Replay, subject: str | None, seat: int, speech: Speech, *, first: bool
) -> Line | None:
    """Return the line of a command that was refused, or sent again; None for the first arrival of an accepted one."""
    if arrived.code is None and first:
        return None
    kind = PROBLEMS.get(arrived.code or "")
    clause = f" ({arrived.clause})" if arrived.clause else ""
    answer = (
        "sent again, and given the first answer"
        if arrived.code is None
        else f"refused: {kind.title if kind else arrived.code}{clause}"
    )
    return Line(
        at_ms=arrived.at_ms,
        offset_ms=0,
        clocked=True,
        seat=seat,
        who=speech.name(seat),
        sent=speech.asked(replay.steps[0].match.rules, arrived.move),
        accepted=False,
        answer=answer,
        code=arrived.code,
        clause=arrived.clause,
        version=arrived.version,
        subject=arrived.code is not None and arrived.command == subject,
    )
