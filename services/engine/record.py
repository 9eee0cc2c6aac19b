"""The record of a finished match: one NDJSON file that holds all of it, for ever, and needs no service to be checked.

A header line, one line an event, a closing line with the signature. Bodies, causes and sealed bodies stand in their
lines as JSON *strings*: a hash covers exact bytes, and a string survives every parser and printer unchanged. Each line
is written in one way only (docs/record.md), so that two different files never say the same.

There is no record while a match runs: it opens what was sealed and holds the service's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from services.contracts.base64url import base64url
from services.contracts.checkpoint import Receipt
from services.contracts.envelope import Event, Head
from services.contracts.events.catalogue import UndecodableEventError, fact_of
from services.contracts.events.match import MatchStarted, SeatTaken

FORMAT: Final = "macao-record/1"
SIGNATURE: Final = "macao-record-signature/1"
KEY_BYTES: Final = 32

LINE_BYTES_MAX: Final = 1 << 20
LINES_MAX: Final = 1_000_000

ENDING: Final = "seed-revealed"
"""Every match ends with this event, however it ended."""

UNKNOWN: Final = "unknown"
"""Stands for the rules of a match whose first event cannot be read any more."""

Signer = Callable[[bytes], tuple[str, bytes]]
"""Signs a message with Ed25519; returns the id of the key and the 64 bytes."""

# What enters a preimage holds no line feed, and no cause is the bare "-" that stands for none: otherwise two
# different events could have one hash.
Number = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Version = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Word = Annotated[str, Meta(pattern=r"\A[!-~]{1,200}\Z")]
Object = Annotated[str, Meta(pattern=r"\A\{[^\x00-\x1f]*\}\Z")]
Hex16 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Hex32 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Base64Key = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{43}\Z")]
Base64Signature = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{86}\Z")]


class Line(Struct, frozen=True, tag_field="line", forbid_unknown_fields=True):
    """A line of a record; the field ``line`` says which of the three kinds it is."""


class Header(Line, frozen=True, kw_only=True, tag="header"):
    """The first line.

    Attributes:
        stream: the match's id.
        rules: the game at the version of its rules, ``dice-race@1``.
        seats: who sat where, as in ``match-started``.
        chain: how events are chained.
        seal: how hidden parts are sealed.
        fairness: how chance is drawn.
        signature: how the closing line is signed.
        key_id: names the key that signed.
        public_key: that key, 32 bytes in base64url. It proves who signed only to those who know it from elsewhere.
    """

    format: Literal["macao-record/1"] = FORMAT
    stream: Word
    rules: Word
    seats: tuple[SeatTaken, ...]
    chain: Literal["macao-chain/1"] = "macao-chain/1"
    seal: Literal["macao-seal/1"] = "macao-seal/1"
    fairness: Literal["macao-fair/1"] = "macao-fair/1"
    signature: Literal["macao-record-signature/1"] = SIGNATURE
    key_id: Word
    public_key: Base64Key


class EventLine(Line, frozen=True, tag="event"):
    """One event: all that its hash covers, the hash, and what opens its seal where it has one."""

    version: Version
    type: Word
    schema: Version
    actor: Word
    command: Word
    at_ms: Number
    cause: Object | None
    body: Object
    sealed: Object | None
    salt: Hex16 | None
    seal: Hex32 | None
    previous: Hex32
    hash: Hex32


class Closing(Line, frozen=True, tag="closing"):
    """The last line: where the chain ends, and the signature over the header line and this end.

    Attributes:
        version: the version of the last event.
        hash: its hash.
        events: how many events there are.
        key_id: as in the header.
        signature: 64 bytes in base64url.
        receipt: the proof that the match lies in the service's whole log; None where that was not sealed yet. It stands
            outside the signature, and has one of its own: the log is sealed after the match, and a record is the same
            record before and after.
    """

    version: Version
    hash: Hex32
    events: Version
    key_id: Word
    signature: Base64Signature
    receipt: Receipt | None = None


class Record(Struct, frozen=True):
    """A record whose every line could be read. Whether it is true is for the audit to say."""

    header: Header
    events: tuple[Event, ...]
    closing: Closing


class Entry(Struct, frozen=True):
    """What stands where an event belongs: the event, or what is wrong with the line. Lines count from 1."""

    line: int
    event: Event | None
    problem: str = ""


class Fault(Struct, frozen=True):
    """What is wrong with the header, the closing line, or the places of both."""

    line: int
    problem: str


class Sheet(Struct, frozen=True):
    """As much of a record as can be read, for an audit that has to bear anything."""

    header: Header | None
    entries: tuple[Entry, ...]
    closing: Closing | None
    closing_line: int
    faults: tuple[Fault, ...]


class RecordError(ValueError):
    """A line of a record cannot be read.

    Attributes:
        line: which, from 1.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


_encode: Final = msgspec.json.Encoder().encode
_decode_line: Final = msgspec.json.Decoder(Header | EventLine | Closing).decode


def header_of(first: Event, *, key_id: str, public_key: bytes) -> Header:
    """Return the header for the record of a match, from its first event and the key that will sign.

    Raises:
        ValueError: the event does not start a match, or the key is not 32 bytes.
    """
    started = fact_of(first)
    if not isinstance(started, MatchStarted):
        raise ValueError("a match begins with match-started")  # noqa: TRY004 - the data is wrong, not a type
    if len(public_key) != KEY_BYTES:
        raise ValueError(f"an Ed25519 key has {KEY_BYTES} bytes, not {len(public_key)}")
    return Header(
        stream=first.stream,
        rules=f"{started.game}@{started.rules_version}",
        seats=started.seats,
        key_id=key_id,
        public_key=base64url(public_key),
    )


def write_record(
    header: Header, events: Sequence[Event], signer: Signer, receipt: Receipt | None = None
) -> Iterator[bytes]:
    """Yield the lines of a record, each with its line feed.

    Raises:
        ValueError: the match is not over, its stream is not whole, or another key signs than the header names.
    """
    if not any(event.type == ENDING for event in events):
        raise ValueError("there is no record of a match that is still running")
    if [event.version for event in events] != list(range(1, len(events) + 1)):
        raise ValueError("a record holds every version of the stream, in order")
    return _lines(header, events, signer, receipt)


def write_as_stored(
    match: str,
    events: Sequence[Event],
    head: Head,
    signer: Signer,
    receipt: Receipt | None = None,
    *,
    key_id: str,
    public_key: bytes,
) -> Iterator[bytes]:
    """Yield the lines of a record of whatever a log holds of a match, for an audit to find what is wrong with it.

    The closing line says where the log's own note of its streams (``head``) has the end, and not where the events end.
    Of a match that nobody changed it is the same record that `write_record` makes.
    """
    try:
        header = header_of(events[0], key_id=key_id, public_key=public_key)
    except (ValueError, IndexError, UndecodableEventError, RecursionError):
        header = Header(
            stream=match, rules=UNKNOWN, seats=(), key_id=key_id, public_key=base64url(public_key)
        )
    return _lines(header, events, signer, receipt, head)


def _lines(
    header: Header,
    events: Sequence[Event],
    signer: Signer,
    receipt: Receipt | None = None,
    head: Head | None = None,
) -> Iterator[bytes]:
    yield _encode(header) + b"\n"
    for event in events:
        yield _encode(line_of(event)) + b"\n"
    end = head or events[-1].head
    count = end.version if head else len(events)
    key_id, signature = signer(signed_message(header, end.version, end.hash.hex(), count))
    if key_id != header.key_id:
        raise ValueError(f"the header names the key {header.key_id}, and {key_id} signed")
    yield _encode(Closing(end.version, end.hash.hex(), count, key_id, base64url(signature), receipt)) + b"\n"


def signed_message(header: Header, version: int, head_hash: str, events: int) -> bytes:
    """Return the exact bytes that are signed: the scheme, the header line, the end of the chain, each on a line."""
    return b"%b\n%b\n%d\n%b\n%d" % (SIGNATURE.encode(), _encode(header), version, head_hash.encode(), events)


def line_of(event: Event) -> EventLine:
    """Return an event as a line of a record."""
    return EventLine(
        version=event.version, type=event.type, schema=event.schema, actor=event.actor, command=event.command,
        at_ms=event.at_ms, cause=_text(event.cause), body=event.body.decode(errors="replace"),
        sealed=_text(event.sealed), salt=_hex(event.salt), seal=_hex(event.seal),
        previous=event.previous.hex(), hash=event.hash.hex(),
    )  # fmt: skip


def event_of(line: EventLine, stream: str) -> Event:
    """Return the event that a line holds."""
    return Event(
        stream=stream, version=line.version, type=line.type, schema=line.schema, actor=line.actor,
        command=line.command, at_ms=line.at_ms, cause=None if line.cause is None else line.cause.encode(),
        body=line.body.encode(), seal=_unhex(line.seal), salt=_unhex(line.salt),
        sealed=None if line.sealed is None else line.sealed.encode(),
        previous=bytes.fromhex(line.previous), hash=bytes.fromhex(line.hash),
    )  # fmt: skip


def read_record(lines: Iterable[bytes]) -> Record:
    """Read a record whose form is right.

    Raises:
        RecordError: naming the first line that cannot be read.
    """
    return record_of(read_sheet(lines))


def record_of(sheet: Sheet) -> Record:
    """Return what was read as a record.

    Raises:
        RecordError: naming the first line that cannot be read.
    """
    faults = [
        *sheet.faults,
        *(Fault(entry.line, entry.problem) for entry in sheet.entries if entry.event is None),
    ]
    if faults or sheet.header is None or sheet.closing is None:
        first = min(faults, key=lambda fault: fault.line)
        raise RecordError(first.line, first.problem)
    return Record(sheet.header, tuple(entry.event for entry in sheet.entries if entry.event), sheet.closing)


def sheet_of(record: Record) -> Sheet:
    """Return a record as the audit takes it."""
    entries = tuple(Entry(line, event) for line, event in enumerate(record.events, 2))
    return Sheet(record.header, entries, record.closing, len(entries) + 2, ())


def read_sheet(lines: Iterable[bytes]) -> Sheet:
    """Read whatever can be read; never raises, whatever the bytes."""
    read: list[tuple[int, Line | str]] = []
    for number, raw in enumerate(lines, 1):
        if number > LINES_MAX:
            read.append((number, f"a record has at most {LINES_MAX} lines; what follows was not read"))
            break
        read.append((number, _read_line(raw)))
    headers = [(number, line) for number, line in read if isinstance(line, Header)]
    closings = [(number, line) for number, line in read if isinstance(line, Closing)]
    header = headers[0][1] if headers else None
    stream = header.stream if header else ""
    last = read[-1][0] if read else 0
    faults = [*_misplaced_headers(read, headers), *_misplaced_closings(read, closings, last)]
    told = {fault.line for fault in faults}
    entries = tuple(
        Entry(number, event_of(line, stream))
        if isinstance(line, EventLine)
        else Entry(number, None, str(line))
        for number, line in read
        if isinstance(line, EventLine) or (isinstance(line, str) and number not in told)
    )
    closing_line, closing = closings[-1] if closings else (last + 1, None)
    return Sheet(header, entries, closing, closing_line, tuple(faults))


def _misplaced_headers(
    read: Sequence[tuple[int, Line | str]], headers: Sequence[tuple[int, Header]]
) -> Iterator[Fault]:
    if not read:
        yield Fault(1, "the record is empty")
    elif not isinstance(read[0][1], Header):
        found = read[0][1]
        yield Fault(1, "the header line is missing" + (f": {found}" if isinstance(found, str) else ""))
    for number, _ in headers:
        if number != 1:
            yield Fault(number, "a header line stands here; it belongs at the top, once")


def _misplaced_closings(
    read: Sequence[tuple[int, Line | str]], closings: Sequence[tuple[int, Closing]], last: int
) -> Iterator[Fault]:
    if not closings:
        found = read[-1][1] if len(read) > 1 else ""
        if isinstance(found, str) and found:
            yield Fault(last, f"the closing line is missing, and the last line cannot be read: {found}")
        else:
            yield Fault(last + 1, "the closing line is missing: the end of the record was cut off")
    for number, _ in closings:
        if number != last:
            yield Fault(number, "a closing line stands here; it belongs at the end, once")


def _read_line(raw: bytes) -> Line | str:
    """Return a line, or what is wrong with it."""
    text = raw.removesuffix(b"\n")
    if len(text) > LINE_BYTES_MAX:
        return f"the line is longer than {LINE_BYTES_MAX} bytes"
    try:
        line: Line = _decode_line(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return f"this is no line of a record: {error}"
    if _encode(line) != text:
        return "the line says something that a record holds, in other bytes than a record is written in"
    if not raw.endswith(b"\n"):
        return "the line does not end with a line feed"
    return line


def _text(data: bytes | None) -> str | None:
    """Return stored bytes as text. Bytes that are none were damaged; replaced, they fail their hash, as they should."""
    return None if data is None else data.decode(errors="replace")


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
