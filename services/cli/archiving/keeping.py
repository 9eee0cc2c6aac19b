"""From the log into the archive: matches that ended long enough ago, each once; again where a ruling added to it."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from services.cli.archiving.place import Place
from services.engine.play.records import Records, Written
from services.engine.record import read_sheet
from services.runtime.log import EventLog

PAGE: Final = 200

_DUE: Final = """
select c.number, c.match, a.version as kept from macao_engine.commitments as c
left join macao_engine.archived as a on a.match = c.match
where c.state = 'played' and c.number > $1 and c.created_at < to_timestamp($2 / 1000.0)
and (a.match is null or exists (select from macao_engine.disputes as d where d.match = c.match and d.void is not null))
order by c.number limit $3
"""
"""Matches that were not archived, or that a ruling may have added to since; which log holds them is not asked here."""

_KEPT: Final = """
insert into macao_engine.archived (match, version, hash, sha256, bytes) values ($1, $2, $3, $4, $5)
on conflict (match) do update set
    version = excluded.version, hash = excluded.hash, sha256 = excluded.sha256, bytes = excluded.bytes,
    archived_at = clock_timestamp()
"""


class Kept(Struct, frozen=True):
    """What came of it.

    Attributes:
        matches: that were written now.
        bytes: of their records, without compression.
        unfit: matches whose chain is broken, or that have no receipt yet: those are left for another time.
    """

    matches: int
    bytes: int
    unfit: tuple[str, ...]


async def keep(
    connection: Any, log: EventLog, records: Records, place: Place, before_ms: int, limit: int,
    told: Callable[[int], None] | None = None,
) -> Kept:  # fmt: skip
    """Write the records of up to ``limit`` matches whose last event lies before a time; ``connection`` is the owner's.

    A match is in the table only after its file was written and read back; whoever is interrupted goes on the next time.

    Raises:
        PlaceError: the archive cannot be written or read.
    """
    number = written = size = 0
    unfit: list[str] = []
    while rows := await connection.fetch(_DUE, number, before_ms, PAGE):
        for row in rows:
            if written == limit:
                return Kept(written, size, tuple(unfit))
            number, match = row["number"], row["match"]
            if not await _is_due(log, match, row["kept"], before_ms):
                continue
            record = await records.write(match, 0)
            if not record.final:
                unfit.append(match)
                continue
            size += await _put(connection, place, match, record)
            written += 1
            if told is not None:
                told(written)
    return Kept(written, size, tuple(unfit))


async def _is_due(log: EventLog, match: str, kept: int | None, before_ms: int) -> bool:
    head = await log.head_of(match)
    if head is None or head.version == kept:
        return False
    last = await log.read_stream(match, head.version - 1, 1)
    # A match without its last event is due as well: it is found to be unfit, and named.
    return not last or last[0].event.at_ms < before_ms


async def _put(connection: Any, place: Place, match: str, record: Written) -> int:
    whole = b"".join(record.lines)
    place.put(match, whole)
    if place.get(match) != whole:
        raise RuntimeError(f"{place.name} gives back another record of {match} than was written")
    closing = read_sheet(record.lines).closing
    if closing is None:
        raise RuntimeError(f"the record of {match} has no closing line")  # a final one has
    await connection.execute(
        _KEPT, match, closing.version, bytes.fromhex(closing.hash), sha256(whole).digest(), len(whole)
    )
    return len(whole)
