"""Every version in its place, every hash, every link, and the end that the closing line names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from services.contracts.chain import GENESIS, seal_of
from services.contracts.envelope import Event
from services.engine.audit.verdict import Ledger
from services.engine.record import Closing, Entry, Sheet

ZERO: Final = GENESIS.hex()


def with_stream(sheet: Sheet, match: str | None) -> Sheet:
    """Return the sheet with the stream under which its first event's hash holds.

    Lines do not repeat the stream, the header names it. A header that was changed must not turn every hash bad.
    """
    first = sheet.entries[0].event if sheet.entries else None
    if first is None or match is None or first.stream == match:
        return sheet
    if first.recomputed_hash() == first.hash or replace(first, stream=match).recomputed_hash() != first.hash:
        return sheet
    entries = tuple(
        entry if entry.event is None else replace(entry, event=replace(entry.event, stream=match))
        for entry in sheet.entries
    )
    return replace(sheet, entries=entries)


def check_order(sheet: Sheet, ledger: Ledger) -> int:
    """Check that versions run 1, 2, 3 …; return how many entries from the start are whole and in order."""
    expected = 1
    unbroken = None
    places = {GENESIS: -1}
    for at, entry in enumerate(sheet.entries):
        version = expected if entry.event is None else entry.event.version
        if entry.event is None:
            ledger.add("form", entry.line, expected, entry.problem)
        elif version != expected:
            put_in = _first_put_in(sheet.entries, at, places) if version < expected else None
            if put_in is not None:
                ledger.add("order", put_in.line, version, _put_in_words(entry))
            elif version > expected:
                span = (
                    f"version {expected}"
                    if version == expected + 1
                    else f"versions {expected} to {version - 1}"
                )
                ledger.add(
                    "order",
                    entry.line,
                    expected,
                    f"{span} missing here: version {version} stands in the place",
                )
            else:
                ledger.add(
                    "order",
                    entry.line,
                    expected,
                    f"version {version} stands where version {expected} belongs",
                )
        if unbroken is None and (entry.event is None or version != expected):
            unbroken = at
        if entry.event is not None:
            places.setdefault(entry.event.hash, at)
        expected = version + 1
    return len(sheet.entries) if unbroken is None else unbroken


def _first_put_in(entries: Sequence[Entry], at: int, places: Mapping[bytes, int]) -> Entry | None:
    """Return the first of the lines that were put in, if this event goes on from what stands in front of them.

    A copy of an event is no reason to doubt the first one.
    """
    event = entries[at].event
    if event is None or event.hash in places:
        return None
    before = places.get(event.previous, at)
    return entries[before + 1] if before + 1 < at else None


def _put_in_words(entry: Entry) -> str:
    return f"line {entry.line} was chained to what stands before this: what lies between was put in"


def check_chain(sheet: Sheet, ledger: Ledger) -> None:
    """Recompute every hash, compare every link, and open every seal."""
    places = {GENESIS: -1}
    for at, entry in enumerate(sheet.entries):
        event = entry.event
        if event is None:
            continue
        if event.recomputed_hash() != event.hash:
            ledger.add(
                "chain",
                entry.line,
                event.version,
                "the hash is not that of this event: something in it was changed",
            )
        _check_seal(entry.line, event, ledger)
        if event.version == 1 and event.previous != GENESIS:
            ledger.add("chain", entry.line, 1, f"the first event of a stream has the previous hash {ZERO}")
        before = sheet.entries[at - 1].event if at else None
        if before is not None and before.version + 1 == event.version and before.hash != event.previous:
            put_in = _first_put_in(sheet.entries, at, places)
            if put_in is not None:
                ledger.add("order", put_in.line, places[event.previous] + 2, _put_in_words(entry))
            else:
                _blame_broken_link(sheet, at, ledger)
        places.setdefault(event.hash, at)


def _blame_broken_link(sheet: Sheet, at: int, ledger: Ledger) -> None:
    """Say which of two neighbours is not the one that was written: the later, unless what follows it vouches for it."""
    earlier, later = sheet.entries[at - 1], sheet.entries[at]
    if earlier.event is None or later.event is None or ledger.has(earlier.line, "chain"):
        return
    if _is_vouched_for(sheet.entries, at, sheet.closing):
        ledger.add(
            "chain", earlier.line, earlier.event.version,
            f"version {later.event.version} was chained to another event than this: this one was put in its place",
        )  # fmt: skip
    else:
        ledger.add(
            "chain", later.line, later.event.version,
            f"this event was not chained to version {earlier.event.version} as it stands here",
        )  # fmt: skip


def _is_vouched_for(entries: Sequence[Entry], at: int, closing: Closing | None) -> bool:
    event = entries[at].event
    if event is None or event.recomputed_hash() != event.hash:
        return False
    if at + 1 < len(entries):
        following = entries[at + 1].event
        return following is not None and following.previous == event.hash
    return closing is not None and closing.hash == event.hash.hex()


def _check_seal(line: int, event: Event, ledger: Ledger) -> None:
    parts = (event.seal, event.salt, event.sealed)
    if parts == (None, None, None):
        return
    if event.seal is None or event.salt is None or event.sealed is None:
        ledger.add(
            "seal", line, event.version, "seal, salt and sealed body belong together, and one is missing"
        )
    elif seal_of(event.salt, event.sealed) != event.seal:
        ledger.add("seal", line, event.version, "the sealed body is not the one that was sealed")
    else:
        ledger.seals += 1


def check_closing(sheet: Sheet, ledger: Ledger) -> None:
    """Compare the closing line with the events: a record that was cut off ends before it."""
    last = next((entry for entry in reversed(sheet.entries) if entry.event is not None), None)
    head = last.event if last else None
    version = head.version if head else 0
    for fault in sheet.faults:
        ledger.add("form", fault.line, _version_at(sheet, fault.line), fault.problem)
    closing, line = sheet.closing, sheet.closing_line
    if closing is None or any(fault.line == line for fault in sheet.faults):
        return
    if sheet.header and closing.key_id != sheet.header.key_id:
        ledger.add("signature", line, None, "header and closing line name different keys")
    if closing.version > version:
        ledger.add(
            "order", line, version + 1, f"the record is cut off: it closes with version {closing.version}"
        )
    elif closing.version < version:
        ledger.add(
            "order", line, closing.version + 1, f"the closing line knows nothing after {closing.version}"
        )
    elif closing.events != len(sheet.entries):
        ledger.add(
            "order", line, None, f"the closing line counts {closing.events} events, not {len(sheet.entries)}"
        )
    elif (
        head is not None
        and last is not None
        and closing.hash != head.hash.hex()
        and not ledger.has(last.line, "chain")
    ):
        ledger.add(
            "chain", last.line, version,
            "the chain ends in another hash than the closing line names: this event, or one before it with all that"
            " follow chained anew, was changed",
        )  # fmt: skip


def _version_at(sheet: Sheet, line: int) -> int | None:
    """Return the version that belongs where a line stands; None for the first line, which is the header's."""
    if line == 1:
        return None
    before = [entry.event.version for entry in sheet.entries if entry.event is not None and entry.line < line]
    return before[-1] + 1 if before else 1
