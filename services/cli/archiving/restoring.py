"""From the archive into a log: matches that a log does not have, event by event as they were, hashes and all.

What comes back are matches, under the same chains, so records, replays and audits of them are served again. Their
places in the log do not: those were in a tree that other checkpoints signed, and old receipts prove the old log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from itertools import groupby
from typing import Final

from asyncpg import UniqueViolationError
from msgspec import Struct

from services.cli.archiving.place import Place, PlaceError
from services.contracts.envelope import Event, Head
from services.contracts.events.catalogue import fact_of
from services.contracts.events.chance import SeedRevealed
from services.contracts.events.match import MatchStarted
from services.contracts.ids import MATCH
from services.engine.audit import audit_sheet
from services.engine.play.commitments import SEED_PURPOSE
from services.engine.record import read_sheet
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.log import Append, Appended, Duplicate
from services.runtime.platform import Platform

_COMMITMENT: Final = """
insert into macao_engine.commitments (number, match, command, game, commitment, seed_sealed, seed, state, table_id)
values ($1, $2, $3, $4, $5, $6, $7, 'played', $8) on conflict (match) do nothing
"""


class Restored(Struct, frozen=True):
    """What came of it: matches written, matches that were there already, and why others were left."""

    matches: int
    there: int
    faults: tuple[str, ...]


class _LeftError(Exception):
    """A match is not restored, and why."""


async def restore(
    platform: Platform,
    place: Place,
    wanted: Iterable[str],
    keys: Mapping[str, bytes] | None,
    told: Callable[[int], None] | None = None,
) -> Restored:
    """Write the matches of an archive into the log of an open platform, in the order in which they began.

    Only sound records are written. A match that the log has, or has a part of from an earlier try, is gone on with; one
    that the log has otherwise is left and named.

    Raises:
        PlaceError: the archive cannot be listed.
    """
    written = there = 0
    faults: list[str] = []
    for match in sorted(wanted):
        try:
            if await _restore(platform, place, match, keys):
                written += 1
            else:
                there += 1
        except (_LeftError, PlaceError) as error:
            faults.append(f"{match}: {error}")
        if told is not None:
            told(written + there + len(faults))
    return Restored(written, there, tuple(faults))


async def _restore(platform: Platform, place: Place, match: str, keys: Mapping[str, bytes] | None) -> bool:
    """Write one match; say whether there was anything to write."""
    events = _events(place, match, keys)
    head = await platform.log.head_of(match) or Head()
    if head.version > len(events) or (head.version and events[head.version - 1].hash != head.hash):
        raise _LeftError("the log has another match under this id: run macao audit on it")
    if head.version == len(events):
        return False
    await _commit(platform, match, events)
    for command, group in groupby(events[head.version :], lambda event: event.command):
        together = tuple(group)
        outcome = await platform.log.append(
            Append(
                stream=match, kind=MATCH, expected=head, events=together, command=command,
                request_hash=sha256(f"restored {command}".encode()).digest(), answer=b"{}",
            )
        )  # fmt: skip
        if not isinstance(outcome, Appended | Duplicate):
            raise _LeftError(f"the log does not take its command {command}: somebody writes to this match")
        head = together[-1].head
    return True


def _events(place: Place, match: str, keys: Mapping[str, bytes] | None) -> list[Event]:
    """Return the events of a record that is sound."""
    record = place.get(match)
    if record is None:
        raise _LeftError("it is not in the archive")
    sheet = read_sheet(record.splitlines(keepends=True))
    verdict = audit_sheet(sheet, CATALOGUE, keys)
    if not verdict.sound or verdict.stream != match:
        said = verdict.findings[0].text if verdict.findings else "it is the record of another match"
        raise _LeftError(said)
    return [entry.event for entry in sheet.entries if entry.event is not None]


async def _commit(platform: Platform, match: str, events: list[Event]) -> None:
    """Put the commitment back into its place in the public count, with the seed that is public by now."""
    started = fact_of(events[0])
    seed = next((fact.seed for fact in map(fact_of, events) if isinstance(fact, SeedRevealed)), None)
    if not isinstance(started, MatchStarted) or seed is None:
        raise _LeftError("it has no beginning, or shows no seed")  # a sound record of an ended match has both
    sealed = platform.vault.encrypt(SEED_PURPOSE, bytes.fromhex(seed), match.encode())
    try:
        await platform.database.pool.execute(
            _COMMITMENT, started.commitment_number, match, f"restored:{match}", started.game, started.commitment,
            sealed, seed, started.table,
        )  # fmt: skip
    except UniqueViolationError:
        raise _LeftError(
            f"the number {started.commitment_number} of its commitment is another match's: restore into a new database"
        ) from None
