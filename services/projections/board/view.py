"""A table as the public sees it on the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from services.projections.board.fold import Row
from services.runtime.players import Players


class SeatOnBoard(Struct, frozen=True):
    """A seat; ``player`` and ``name`` are None while it is free. ``bot`` is a bot's level, None for a person."""

    seat: int
    player: str | None
    name: str | None
    bot: str | None


class MatchOnBoard(Struct, frozen=True):
    """The match being played at a table.

    Attributes:
        state: ``starting`` until the engine has started it; ``ended`` and ``voided`` until the table is open again.
        round: the round being played, 0 before the first.
        started_at_ms: Unix time, None while it is starting.
    """

    id: str
    state: Literal["starting", "running", "ended", "voided"]
    round: int
    started_at_ms: int | None


class TableOnBoard(Struct, frozen=True):
    """A public table that is open or playing.

    Attributes:
        turn_seconds: the pace: 10, 30, or None for no clock.
        rated: whether a match at this table counts; never once a bot has sat here.
        match: None while nothing is being played.
        opened_at_ms: Unix time.
    """

    id: str
    game: str
    options: dict[str, Any]
    seats: list[SeatOnBoard]
    seats_taken: int
    host: str
    state: Literal["open", "playing"]
    turn_seconds: int | None
    rated: bool
    match_id: str | None
    match: MatchOnBoard | None
    opened_at_ms: int


_options = msgspec.json.Decoder(dict[str, Any]).decode


async def tables_of(players: Players, rows: Sequence[Row]) -> list[TableOnBoard]:
    """Return rows as they are shown, names included. All of them have to be shown."""
    names = await players.names_of({who for row in rows for who in row.players if who is not None})
    return [_table(row, names) for row in rows]


def _table(row: Row, names: Mapping[str, str]) -> TableOnBoard:
    playing = row.playing
    match = MatchOnBoard(playing.id, playing.state, playing.round, playing.started_at_ms) if playing else None
    return TableOnBoard(
        id=row.id, game=row.game, options=_options(row.options),
        seats=[
            SeatOnBoard(seat, who, names.get(who) if who else None, bot)
            for seat, (who, bot) in enumerate(zip(row.players, row.bots, strict=True))
        ],
        seats_taken=sum(who is not None for who in row.players), host=row.host,
        state="playing" if row.state == "playing" else "open", turn_seconds=row.turn_seconds,
        rated=row.rated,
        match_id=match.id if match else None, match=match, opened_at_ms=row.opened_at_ms,
    )  # fmt: skip
