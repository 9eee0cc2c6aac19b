"""The audit: from the record alone, whether a match happened as it says, and by the rules.

Pure, and it raises nothing whatever it is given: what is malformed becomes a finding. A verdict names the first
version that is bad, so that two people who argue look at the same event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from services.contracts.envelope import Event, Head
from services.contracts.events.match import MatchStarted
from services.engine.audit.chance import check_chance
from services.engine.audit.clocks import Outage
from services.engine.audit.comparison import Comparison, NotComparableError, compare, describe_comparison
from services.engine.audit.decisions import check_decisions, check_times, commands_of
from services.engine.audit.facts import Told, read_facts, unbroken
from services.engine.audit.keys import find_keys
from services.engine.audit.links import check_chain, check_closing, check_order, with_stream
from services.engine.audit.receipt import check_receipt
from services.engine.audit.signature import check_signature
from services.engine.audit.verdict import Check, Finding, Ledger, Verdict, describe, first_bad_version
from services.engine.record import Closing, Entry, Header, Record, Sheet, read_sheet, sheet_of
from services.engine.rules.catalogue import Catalogue

__all__ = [
    "Check", "Comparison", "Finding", "NotComparableError", "Outage", "Verdict", "audit", "audit_events", "audit_lines",
    "audit_sheet", "compare", "describe", "describe_comparison",
]  # fmt: skip


def audit(
    record: Record,
    catalogue: Catalogue,
    public_keys: Mapping[str, bytes] | None = None,
    outages: Sequence[Outage] | None = None,
) -> Verdict:
    """Audit a record that was read.

    Args:
        record: the record.
        catalogue: the rules, every version of them.
        public_keys: the service's public keys by id. Without them the record vouches for itself only, and the
            verdict says so (``key_known``).
        outages: when the service was down, in order; None where that is not known.
    """
    return audit_sheet(sheet_of(record), catalogue, public_keys, outages)


def audit_events(
    events: Sequence[Event], head: Head, catalogue: Catalogue, outages: Sequence[Outage] | None = None
) -> Verdict:
    """Audit a finished match as it stands in the log, where nothing is signed.

    Args:
        events: the match's stream.
        head: where the log says that it ends.
        catalogue: the rules, every version of them.
        outages: when the service was down, in order; None where that is not known.
    """
    entries = tuple(Entry(line, event) for line, event in enumerate(events, 2))
    closing = Closing(head.version, head.hash.hex(), len(events), "-", "-")
    return audit_sheet(Sheet(None, entries, closing, len(events) + 2, ()), catalogue, None, outages)


def audit_lines(
    lines: Iterable[bytes], catalogue: Catalogue, public_keys: Mapping[str, bytes] | None = None
) -> Verdict:
    """Audit the lines of a record, whatever they are."""
    return audit_sheet(read_sheet(lines), catalogue, public_keys)


def audit_sheet(
    sheet: Sheet,
    catalogue: Catalogue,
    public_keys: Mapping[str, bytes] | None = None,
    outages: Sequence[Outage] | None = None,
) -> Verdict:
    """Audit as much of a record as could be read."""
    ledger = Ledger()
    whole = check_order(sheet, ledger)
    told = read_facts(sheet.entries, ledger)
    start = told[0] if told and isinstance(told[0].fact, MatchStarted) else None
    started = start.fact if start and isinstance(start.fact, MatchStarted) else None
    sheet = with_stream(sheet, started.match if started else None)
    check_chain(sheet, ledger)
    check_closing(sheet, ledger)
    check_signature(sheet, public_keys, ledger)
    check_receipt(sheet, public_keys, ledger)
    if start and started:
        _check_header(sheet.header, _stream_of(sheet), start, started, ledger)
    ordered = unbroken(told, sheet.entries[:whole])
    commands = commands_of(ordered)
    check_times(commands, ledger)
    if start:
        end = sheet.closing_line, told[-1].event.version + 1
        keys = find_keys(start, told, end, ledger)
        check_chance(told, keys, end, ledger)
        complete = _reaches_end(sheet, ordered)
        check_decisions(commands, catalogue, keys, ledger, complete=complete, outages=outages)
    elif sheet.entries:
        ledger.add("rules", sheet.entries[0].line, 1, "a match begins with match-started", "G1")
    return _verdict(sheet, started, ledger)


def _stream_of(sheet: Sheet) -> str:
    return next((entry.event.stream for entry in sheet.entries if entry.event is not None), "")


def _reaches_end(sheet: Sheet, ordered: Sequence[Told]) -> bool:
    """Say whether these facts are all that there were; otherwise the last command may lack its end."""
    return (
        len(ordered) == len(sheet.entries)
        and sheet.closing is not None
        and sheet.closing.version <= len(ordered)
    )


def _check_header(
    header: Header | None, stream: str, start: Told, started: MatchStarted, ledger: Ledger
) -> None:
    """Compare the header, and the stream under which the events are chained, with what the first event says."""
    if stream and stream != started.match:
        ledger.add(
            "form", start.line, start.event.version, f"the stream is {stream}, the match {started.match}"
        )
    if header is None:
        return
    for name, said, true in (
        ("stream", header.stream, started.match),
        ("rules", header.rules, f"{started.game}@{started.rules_version}"),
        ("seats", header.seats, started.seats),
    ):
        if said != true:
            ledger.add("form", 1, None, f"the header's {name} are not those of match-started")


def _verdict(sheet: Sheet, started: MatchStarted | None, ledger: Ledger) -> Verdict:
    findings = ledger.findings
    return Verdict(
        sound=not findings,
        first_bad_version=first_bad_version(findings),
        stream=started.match if started else sheet.header.stream if sheet.header else None,
        rules=f"{started.game}@{started.rules_version}"
        if started
        else sheet.header.rules
        if sheet.header
        else None,
        events=sum(entry.event is not None for entry in sheet.entries),
        commands=ledger.commands,
        draws=ledger.draws,
        seals=ledger.seals,
        key_id=sheet.header.key_id if sheet.header else None,
        key_known=ledger.key_known,
        receipt_size=ledger.receipt_size,
        findings=findings,
        more=ledger.more,
        notes=ledger.notes,
    )
