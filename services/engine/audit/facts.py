"""The facts inside the events, read once for every check that needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.contracts.envelope import Event
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import UndecodableEventError, encode, fact_of
from services.engine.audit.verdict import Ledger
from services.engine.record import Entry

SAFE_MAX: Final = 2**53 - 1
"""Up to here a reader that counts in floating point, as JavaScript does, has every whole number."""

_LONG_NUMBER: Final = re.compile(rb"[0-9]{16}")


class Told(Struct, frozen=True):
    """An event of the record with the whole fact in it, sealed parts included."""

    line: int
    event: Event
    fact: Fact


def read_facts(entries: Iterable[Entry], ledger: Ledger) -> list[Told]:
    """Decode every event; one that cannot be read becomes a finding and is left out."""
    told: list[Told] = []
    for entry in entries:
        event = entry.event
        if event is None:
            continue
        try:
            fact = fact_of(event)
            # Parts that no event has were only skipped until now, and may hold what is no number.
            wide = _LONG_NUMBER.search(event.whole) and _is_wide(msgspec.json.decode(event.whole))
        except (UndecodableEventError, msgspec.MsgspecError, RecursionError) as error:
            ledger.add("form", entry.line, event.version, str(error))
            continue
        if wide:
            ledger.add(
                "form",
                entry.line,
                event.version,
                f"a number is beyond {SAFE_MAX}, where not every reader counts",
            )
            continue
        # Bytes that say more than the fact does, or say it otherwise, would be carried along unseen.
        if event.schema == fact.SCHEMA and encode(fact) != event.whole:
            ledger.add(
                "form", entry.line, event.version, f"the body is not as a body of {event.type} is written"
            )
        told.append(Told(entry.line, event, fact))
    return told


def _is_wide(value: Any) -> bool:
    """Say whether a number somewhere in a body is larger than all readers can tell from its neighbours."""
    match value:
        case dict():
            return any(map(_is_wide, value.values()))
        case list():
            return any(map(_is_wide, value))
        case int():
            return not -SAFE_MAX <= value <= SAFE_MAX
        case _:
            return False


def unbroken(told: Iterable[Told], entries: Iterable[Entry]) -> list[Told]:
    """Return the facts up to the first entry that could not be read: what comes after it cannot be decided again."""
    ordered: list[Told] = []
    for fact, entry in zip(told, entries, strict=False):
        if fact.line != entry.line:
            break
        ordered.append(fact)
    return ordered
