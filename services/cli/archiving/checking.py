"""The archive on its own: every record in it audited in full, and held against what has to be there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

from msgspec import Struct

from services.cli.archiving.place import Place, PlaceError
from services.engine.audit import audit_sheet
from services.engine.record import read_sheet
from services.engine.rules.catalogue import CATALOGUE


class Fault(Struct, frozen=True):
    """What is wrong with the file of a match."""

    match: str
    said: str


class Checked(Struct, frozen=True):
    """What was found; ``receipts`` counts records that carry the proof that they lie in the service's whole log."""

    matches: int
    events: int
    receipts: int
    faults: tuple[Fault, ...]


def check(
    place: Place,
    keys: Mapping[str, bytes] | None,
    expected: Mapping[str, bytes] | None,
    told: Callable[[int], None] | None = None,
) -> Checked:
    """Audit every record of an archive.

    Args:
        place: the archive.
        keys: the service's public record keys by id, known from elsewhere; None: signatures are held against the keys
            that records name themselves.
        expected: the SHA-256 of every record that has to be there; None: nobody knows.
        told: hears how many records have been looked at.

    Raises:
        PlaceError: the archive cannot be listed.
    """
    faults: list[Fault] = []
    seen: set[str] = set()
    events = receipts = 0
    for match in place.matches():
        seen.add(match)
        try:
            record = place.get(match) or b""
        except PlaceError as error:
            faults.append(Fault(match, str(error)))
            continue
        sheet = read_sheet(record.splitlines(keepends=True))
        verdict = audit_sheet(sheet, CATALOGUE, keys)
        events += verdict.events
        receipts += sheet.closing is not None and sheet.closing.receipt is not None
        if not verdict.sound:
            first = verdict.findings[0].text if verdict.findings else "it is not sound"
            faults.append(Fault(match, first))
        elif sheet.header is None or sheet.header.stream != match:
            faults.append(Fault(match, "it is the record of another match"))
        elif expected is not None and match in expected and sha256(record).digest() != expected[match]:
            faults.append(Fault(match, "it is sound, but not the record that was archived"))
        if told is not None:
            told(len(seen))
    faults += [
        Fault(match, "it was archived, and is not there") for match in sorted(set(expected or ()) - seen)
    ]
    return Checked(len(seen), events, receipts, tuple(faults))
