"""Between rows and values: the one place that knows the order of columns and of ``append_many``'s arguments."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from asyncpg import Record

from services.contracts.chain import GENESIS
from services.contracts.envelope import Event, Head, Link, Recorded
from services.runtime.log.types import Append, Appended, Command, Conflict, Duplicate, Outcome, Reused

EVENT_COLUMNS: Final = (
    "stream, version, type, schema, actor, command, at_ms, cause, body, seal, salt, sealed, "
    "previous, hash, position"
)
"""As the fields of ``Event`` stand, then the position."""

LINK_COLUMNS: Final = (
    "version, type, schema, actor, command, at_ms, cause, coalesce(sealed, body), previous, hash"
)
"""As the fields of ``Link`` stand."""

COMMAND_COLUMNS: Final = "id, stream, version, request_hash, answer"

ARGUMENTS: Final = 16

_EVENT_FIELDS: Final = len(Event.__struct_fields__)


def check(item: Append) -> None:
    """See to it that an append is sound in itself, before it costs a round trip.

    Raises:
        ValueError: it has no events, or they do not follow from the expected head, each other, or the command.
    """
    if not item.events:
        raise ValueError(f"the append to {item.stream} has no events")
    if not item.stream.startswith(f"{item.kind}_"):
        raise ValueError(f"{item.stream} is not the id of a stream of kind {item.kind}")
    version, previous = item.expected.version, item.expected.hash
    if version == 0 and previous != GENESIS:
        raise ValueError(f"the append to {item.stream} begins a stream behind something")
    for event in item.events:
        version += 1
        if event.version != version or event.previous != previous:
            raise ValueError(f"event {event.version} of {item.stream} does not follow from what is before it")
        if event.stream != item.stream or event.command != item.command:
            raise ValueError(f"event {event.version} of {item.stream} belongs to another stream or command")
        previous = event.hash


def to_arguments(batch: Sequence[Append]) -> list[list[Any]]:
    """Turn a batch, sorted by stream, into the arrays of ``append_many``: two by item, the others by event."""
    events = [event for item in batch for event in item.events]
    return [
        [item.request_hash for item in batch],
        [item.answer for item in batch],
        [event.stream for event in events],
        [event.version for event in events],
        [event.type for event in events],
        [event.schema for event in events],
        [event.actor for event in events],
        [event.command for event in events],
        [event.at_ms for event in events],
        [event.cause for event in events],
        [event.body for event in events],
        _empty_if_null([event.seal for event in events]),
        _empty_if_null([event.salt for event in events]),
        _empty_if_null([event.sealed for event in events]),
        [event.previous for event in events],
        [event.hash for event in events],
    ]


def _empty_if_null(column: list[bytes | None]) -> list[bytes | None]:
    """Most events hide nothing: a column that is null throughout need not be sent."""
    return [] if column.count(None) == len(column) else column


def in_order(rows: list[Record], count: int) -> list[Record]:
    """Bring ``append_many``'s answer to ``count`` items into the order of the items."""
    if len(rows) != count:
        raise ValueError(f"append_many answered {len(rows)} of {count} items")
    # Refused items come first; where there are none, everything is in order already.
    return rows if not rows or rows[0][1] == "appended" else sorted(rows, key=itemgetter(0))


def only_found(rows: list[Record]) -> bool:
    """Say whether an answer of ``append_many`` is about earlier commits alone: nothing was committed with it."""
    # Refused items come first, so a look at one row is enough where nothing was refused.
    return bool(rows) and rows[0][1] != "appended" and all(row[1] != "appended" for row in rows)


def to_outcome(row: Record) -> Outcome:
    """Read one line of ``append_many``'s answer."""
    _item, outcome, version, digest, position, answer = row
    match outcome:
        case "appended":
            return Appended(version, position)
        case "duplicate":
            return Duplicate(answer, version)
        case "reused":
            return Reused()
        case "conflict":
            return Conflict(Head(version, digest))
        case _:
            raise ValueError(f"append_many answered {outcome!r}")


def position_of(row: Record) -> int:
    """Read where the last event of a committed item stands, from its line of ``append_many``'s answer."""
    position: int = row[4]
    return position


def to_recorded(row: Record) -> Recorded:
    """Read one event, selected as ``EVENT_COLUMNS``."""
    return Recorded(row[_EVENT_FIELDS], Event(*row[:_EVENT_FIELDS]))


def to_link(row: Record) -> Link:
    """Read one event, selected as ``LINK_COLUMNS``."""
    return Link(*row)


def to_command(row: Record) -> Command:
    """Read one command, selected as ``COMMAND_COLUMNS``."""
    return Command(*row)
