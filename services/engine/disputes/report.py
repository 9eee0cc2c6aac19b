"""The case file as a referee would write it: Markdown, for people.

What players wrote themselves (names, complaints, reasons) is quoted with its special characters made harmless, so that
nobody can write a verdict of their own into the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from services.engine.disputes.case import NOT_BY_RULES, CaseEvent, CaseFile, Timing
from services.engine.disputes.drawing import Drawing
from services.engine.disputes.hearsay import Line
from services.engine.words.naming import cards_in_words, count, listed

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
_GIVEN: Final = {True: "yes", False: "NO"}
SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60_000


def markdown(case: CaseFile) -> str:
    """Return the case file as a report."""
    parts = (
        _head(case), _complaint(case), _before(case), _what_happened(case), _rules(case), _chance(case), _timing(case),
        _commands(case), _record(case), _ruling(case),
    )  # fmt: skip
    told = ["\n".join(part) for part in parts]
    return "\n\n".join(part.strip("\n") for part in told if part) + "\n"


def _head(case: CaseFile) -> Iterator[str]:
    yield f"# Dispute: {_plain(case.headline)}"
    yield ""
    yield f"{case.title}, played under the rules `{case.rules}`. The match `{case.match_id}` {_status(case.status)}."
    yield ""
    seats = [f"{_seat(case, seat.seat)} in seat {seat.seat}" for seat in case.seats]
    yield f"At the table: {listed(seats)}. Dispute `{case.id}`, {_state(case)}."
    if not case.complete:
        who = "what your seat may know" if case.seen_by.startswith("seat") else "what spectators may know"
        yield ""
        yield f"**The match is still running: this report shows {who}. It will be complete after the end.**"


def _status(status: str) -> str:
    return {"running": "is still running", "ended": "has ended", "voided": "does not count"}[status]


def _state(case: CaseFile) -> str:
    if case.ruling is not None:
        return f"ruled on: {case.ruling.verdict}"
    return {"open": "open", "withdrawn": "withdrawn by the player who complained"}.get(case.state, case.state)


def _seat(case: CaseFile, seat: int) -> str:
    for each in case.seats:
        if each.seat == seat:
            return _plain(each.name) if each.name else f"a {each.bot} bot" if each.bot else "a player"
    return f"seat {seat}"


def _complaint(case: CaseFile) -> Iterator[str]:
    yield "## The complaint"
    yield ""
    about = (
        f"event {case.complaint.version}"
        if case.refused is None
        else f"a command that was refused after event {case.complaint.version}"
    )
    yield f"{_seat(case, case.complaint.seat)} complained about {about} on {_moment(case.complaint.opened_at_ms)}:"
    yield ""
    yield from _quote(case.complaint.text)
    if not case.complaint.event_unchanged:
        yield ""
        yield "**The event is not the one that was complained about: the record has been changed since.**"


def _before(case: CaseFile) -> Iterator[str]:
    yield "## How the table stood"
    yield ""
    if case.position is None:
        yield "Nothing had happened yet: this is the opening of the match."
        return
    when = "When the command was refused" if case.refused else "Right before"
    yield f"{when}, after event {case.position.version}:"
    yield ""
    yield from (f"- {_plain(sentence)}." for sentence in case.position.words)
    yield ""
    if not case.legal:
        yield "What could be played here is shown to the player it concerns, and to all after the end."
    for options in case.legal:
        yield f"{_capital(_seat(case, options.seat))} could {_or(map(_plain, options.words))}."


def _what_happened(case: CaseFile) -> Iterator[str]:
    yield "## What happened"
    yield ""
    subject = next((line for line in case.commands if line.subject), None)
    if case.refused is not None:
        refused = case.refused
        yield "The last thing to happen was:"
        yield ""
        yield from _told(case.preceding)
        yield ""
        clause = f" ({refused.clause})" if refused.clause else ""
        yield f"Then {_seat(case, case.complaint.seat)} asked for: {_plain(refused.words)}. The service refused it:"
        yield f"**{refused.title}**{clause}."
        yield ""
        yield _decided_again(case)
        yield ""
        if not case.events:
            yield "Nothing has happened since."
            return
        yield "The next thing to happen was:"
    elif case.timing is not None:
        yield f"The time to think of {_seat(case, case.timing.seat)} was over. This is what it led to:"
    elif subject is not None:
        yield f"{_capital(_plain(subject.who))} asked for: {_plain(subject.sent)}. This is what it led to:"
    yield ""
    yield from _told(case.events)


def _told(events: Iterable[CaseEvent]) -> Iterator[str]:
    for event in events:
        mark = " **(disputed)**" if event.disputed else ""
        yield f"{event.version}. {_plain(event.words).rstrip('.')}.{mark}"


def _decided_again(case: CaseFile) -> str:
    refused = case.refused
    if refused is None or refused.again == NOT_BY_RULES:
        return "The rules of the game had no say in this; the commands below show what came first."
    if refused.confirmed:
        return (
            "Decided once more from the record, in the same position, the move is refused for the same reason"
            f" ({refused.clause})."
        )
    if refused.again == "accepted":
        return (
            "**Decided once more from the record, in the same position, the move would have been accepted.**"
        )
    return f"**Decided once more from the record, the move is refused for another reason: {refused.again}.**"


def _rules(case: CaseFile) -> Iterator[str]:
    yield "## What the rules say"
    for clause in case.clauses:
        yield ""
        first, *rest = clause.text.split("\n")
        yield f"> **{clause.number}** {first}"
        if rest:
            yield ">"
            yield from (f"> {line}" for line in rest)


def _chance(case: CaseFile) -> Iterator[str]:
    if not case.chance:
        return
    yield "## Was chance fair?"
    for drawing in case.chance:
        yield ""
        yield from _drawing(case, drawing)


def _drawing(case: CaseFile, drawing: Drawing) -> Iterator[str]:
    where = f"round {drawing.round}" if drawing.round else "the lots"
    yield f"{_drawn(case, drawing)} (event {drawing.version}; {where}, operation {drawing.op})."
    yield ""
    yield (
        f"- Fixed before it was drawn: event {drawing.commitment_version} published the commitment"
        f" `{drawing.commitment}` to the key of {where}."
    )
    if drawing.key is None:
        yield f"- The key is shown when {where} is over; until then nobody can check the draw, and nobody can bend it."
        return
    yield f"- Event {drawing.key_version} showed the key, `{drawing.key}`."
    yield f"- Does the key open the commitment? **{_GIVEN[bool(drawing.key_opens_commitment)]}.**"
    if drawing.redrawn is None:
        yield "- Whether the key gives this result is shown when the match is over: the result is still hidden."
    else:
        yield f"- Drawn again with this key, is the result the same? **{_GIVEN[drawing.redrawn]}.**"
    if drawing.key_follows is None:
        yield "- Whether the key follows from the service's seed and the players' own seeds is shown at the end."
    else:
        both = bool(drawing.key_follows and drawing.seed_opens_commitment)
        yield (
            "- Does the key follow from the seed that the service committed to before the match, and from the"
            f" players' own seeds? **{_GIVEN[both]}.**"
        )


def _drawn(case: CaseFile, drawing: Drawing) -> str:
    if drawing.result is None or drawing.drawn_from is None:
        return "What was drawn is hidden until the match is over"
    results = [str(each) for each in drawing.result]
    match drawing.kind:
        case "dice":
            dice = "One die" if len(results) == 1 else f"{len(results)} dice"
            return f"{dice} gave {listed(results)}"
        case "lot":
            seats = listed(_seat(case, int(each)) for each in drawing.drawn_from)
            return f"A lot among {seats} fell on {_seat(case, int(results[0]))}"
        case _:
            order = cards_in_words(results)
            cards = count(len(results), "card")
            return f"{cards} were shuffled into this order, the next to be given first: {order}"


def _timing(case: CaseFile) -> Iterator[str]:
    if case.timing is None:
        return
    yield "## Was there time enough?"
    yield ""
    yield from _clock(case, case.timing)


def _clock(case: CaseFile, timing: Timing) -> Iterator[str]:
    name = _capital(_seat(case, timing.seat))
    yield (
        f"{name} had to decide from {_moment(timing.since_ms)} on, after event {timing.since_version}, and had"
        f" {_span(timing.allowed_ms)}."
    )
    down = (
        f"The service itself was down for {_span(timing.down_ms)} of this, which is not charged"
        if timing.down_ms
        else "The service was not down meanwhile"
    )
    kept = (
        f"That is not less than {_span(timing.allowed_ms)}: the time was given in full."
        if timing.kept
        else f"**That is less than {_span(timing.allowed_ms)}: time was taken away.**"
    )
    yield f"{down}. The end of the time was recorded after {_span(timing.taken_ms)}. {kept}"


def _commands(case: CaseFile) -> Iterator[str]:
    yield "## Who sent what, and when"
    yield ""
    yield (
        f"Times are those at which the service received each command, counted from the disputed one, which came in on"
        f" {_moment(case.at_ms)}."
    )
    yield ""
    yield "| came in | who | asked for | answer |"
    yield "|--:|---|---|---|"
    for line in case.commands:
        mark = "**" if line.subject else ""
        yield (
            f"| {mark}{_offset(line.offset_ms)}{'' if line.clocked else ' †'}{mark} | {_plain(line.who)}"
            f" | {_plain(line.sent)} | {_plain(line.answer)} |"
        )
    if any(not line.clocked for line in case.commands):
        yield ""
        yield "† decided at this time: the service's own command, or one of which the commands log has no arrival."
    if case.left_out:
        yield ""
        yield "Commands of others that were refused are shown when the match is over."
    said = _who_was_first(case)
    if said:
        yield ""
        yield said


def _who_was_first(case: CaseFile) -> str:
    """Say in one sentence how the disputed command lies to the one accepted right before it."""
    at = next((number for number, line in enumerate(case.commands) if line.subject), None)
    if at is None:
        return ""
    subject = case.commands[at]
    earlier = [line for line in case.commands[:at] if line.accepted and line.seat is not None]
    if not earlier or subject.seat is None or earlier[-1].seat == subject.seat:
        return ""
    last: Line = earlier[-1]
    gap_ms = subject.at_ms - last.at_ms
    if gap_ms >= SECOND_MS:
        return ""
    return (
        f"So the command of {_plain(subject.who)} ({_plain(subject.sent)}) came in {_span(gap_ms)} after that of"
        f" {_plain(last.who)} ({_plain(last.sent)}), which had been accepted by then. What counts is the order in which"
        " the match takes commands (G13)."
    )


def _record(case: CaseFile) -> Iterator[str]:
    yield "## Can the record be trusted?"
    yield ""
    audit = case.audit
    if audit is None:
        yield "The whole match is audited when it is over: chain, signature, chance, and every move decided again."
    elif audit.sound:
        yield (
            f"The whole match was audited: all {count(audit.events, 'event')} are as they were written and signed,"
            f" {count(audit.commands, 'command')} decided again with the same outcome,"
            f" {count(audit.draws, 'draw')} drawn again with the same result. Anybody can do the same:"
            f" `macao export {case.match_id}`, then `macao verify {case.match_id}.ndjson`."
        )
    else:
        where = "" if audit.first_bad_version is None else f" at event {audit.first_bad_version}"
        yield f"**The audit found the record wrong{where}:**"
        yield ""
        yield from (f"- {_plain(finding)}" for finding in audit.findings)


def _ruling(case: CaseFile) -> Iterator[str]:
    yield "## The ruling"
    yield ""
    ruling = case.ruling
    if ruling is None:
        yield (
            "The complaint was withdrawn; there is no ruling."
            if case.state == "withdrawn"
            else "An auditor who did not play has still to rule."
        )
        return
    auditor = _plain(ruling.auditor_name) if ruling.auditor_name else f"`{ruling.auditor}`"
    result = "The match does not count." if ruling.match == "void" else "The match stands."
    yield f"**The complaint is {ruling.verdict}. {result}** Ruled by {auditor} on {_moment(ruling.at_ms)}:"
    yield ""
    yield from _quote(ruling.reasons)


def _quote(text: str) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        yield f"> {_plain(line)}".rstrip()


def _plain(text: str) -> str:
    """Return a text in which nothing means anything to Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _or(words: Iterable[str]) -> str:
    found = list(words)
    return " or ".join(filter(None, [", ".join(found[:-1]), found[-1]])) if found else "do nothing but leave"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _moment(at_ms: int) -> str:
    return (
        datetime.fromtimestamp(at_ms // SECOND_MS, UTC).strftime("%Y-%m-%d %H:%M:%S")
        + f".{at_ms % SECOND_MS:03d} UTC"
    )


def _offset(ms: int) -> str:
    sign = "+" if ms > 0 else "-" if ms < 0 else ""
    return f"{sign}{_span(abs(ms))}"


def _span(ms: int) -> str:
    """Return a time in the unit that people would use, never rounded."""
    if ms < SECOND_MS:
        return f"{ms} ms"
    if ms < MINUTE_MS:
        return f"{ms // SECOND_MS}.{ms % SECOND_MS:03d} s"
    return f"{ms // MINUTE_MS} min {ms % MINUTE_MS // SECOND_MS}.{ms % SECOND_MS:03d} s"
