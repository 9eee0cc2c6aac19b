"""``/v1/records``: the best of each kind, over all games or in one; every line leads to the moment in the replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from litestar import Response, get
from litestar.params import FromPath, QueryParameter
from msgspec import Struct

from services.projections.caching import answer
from services.projections.records.kinds import KINDS, Kind, Name
from services.projections.records.tables import SHOWN_MAX, Record, Records
from services.projections.slugs import game_of
from services.runtime.web.operations import Conditional
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

SHOWN_DEFAULT: Final = 10

Shown: TypeAlias = Annotated[
    int, QueryParameter(ge=1, le=SHOWN_MAX, description="How many lines each record has at most.")
]


class Holder(Struct, frozen=True):
    """Who sat in the match. ``name`` is None for a player who is no longer known."""

    seat: int
    player: str
    name: str | None


class RecordLine(Struct, frozen=True):
    """A line under a record.

    Attributes:
        rank: from 1; of equal values the one that was first is ahead.
        value: in the record's unit.
        match: the match; ``version`` is that of the event that set the record: the replay shows it there.
        seat: who set it, None where it is the match's.
        at_ms: Unix time when the match ended.
    """

    rank: int
    value: int
    game: str
    match: str
    version: int
    seat: int | None
    players: list[Holder]
    at_ms: int


class RecordTable(Struct, frozen=True):
    """A record: what it is about, and the best, in order."""

    kind: Name
    title: str
    unit: Literal["plays", "cards", "times", "chips", "rounds", "milliseconds"]
    lines: list[RecordLine]


class RecordTables(Struct, frozen=True):
    """Every record that somebody holds; there are few, so there is one page."""

    items: list[RecordTable]
    next: None = None


@get("/records", operation_id="list_records", operation_class=Conditional, summary="The table of records")
async def list_records(request: Request, limit: Shown = SHOWN_DEFAULT) -> Response[RecordTables]:
    """Return the records over all games, from public rated matches that were played to their end."""
    return await _answer(request, None, limit)


@get(
    "/records/{game:str}",
    operation_id="list_records_of_game",
    operation_class=Conditional,
    summary="The records of a game",
    responses=refusals("unknown-game"),
)
async def list_records_of_game(
    request: Request, game: FromPath[str], limit: Shown = SHOWN_DEFAULT
) -> Response[RecordTables]:
    """Return the records of one game."""
    return await _answer(request, game_of(game), limit)


async def _answer(request: Request, game: str | None, limit: int) -> Response[RecordTables]:
    platform = request.platform
    async with platform.database.pool.acquire() as connection:
        found = await request.the(Records).best(connection, KINDS, game, limit)
    names = await platform.players.names_of(
        {player for records in found.values() for record in records for player in record.players}
    )
    return answer(
        request,
        RecordTables([_table(KINDS[kind], records, names) for kind, records in found.items() if records]),
    )


def _table(kind: Kind, records: Sequence[Record], names: Mapping[str, str]) -> RecordTable:
    lines = [
        RecordLine(
            rank=rank, value=record.value, game=record.game, match=record.match, version=record.version,
            seat=record.seat, at_ms=record.at_ms,
            players=[Holder(seat, who, names.get(who)) for seat, who in enumerate(record.players)],
        )
        for rank, record in enumerate(records, start=1)
    ]  # fmt: skip
    return RecordTable(kind.name, kind.title, kind.unit, lines)
