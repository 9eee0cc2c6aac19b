"""The lobby board as a pure fold over the events of tables and matches.

A row is kept for every table, private and closed ones too: a private table may become public, and a reader
who comes back must be told which tables went away. ``shown_position`` moves only when what the
public can see has changed, so a table that was never public never shows, not even as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Event, Recorded
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import decode
from services.contracts.events.match import MatchEnded, MatchStarted, MatchVoided, RoundStarted
from services.contracts.events.table import (
    BotSeated,
    HostPassed,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    PlayerMoved,
    SettingsChanged,
    TableClosed,
    TableOpened,
)

TableState = Literal["open", "playing", "closed"]
Progress = Literal["starting", "running", "ended", "voided"]

TYPES: Final = frozenset(
    str(struct.__struct_config__.tag)
    for struct in (
        TableOpened, SettingsChanged, PlayerJoined, BotSeated, PlayerMoved, PlayerLeft, HostPassed, MatchRequested,
        MatchFinished, TableClosed, MatchStarted, RoundStarted, MatchEnded, MatchVoided,
    )
)  # fmt: skip
"""The events that can change the board; all others are passed over without being decoded."""


class Playing(Struct, frozen=True):
    """The match at a table, from the request to start it until the table is open again.

    Attributes:
        round: the round being played, 0 before the first.
        started_at_ms: Unix time, None until the engine has started it.
    """

    id: str
    state: Progress = "starting"
    round: int = 0
    started_at_ms: int | None = None


class Row(Struct, frozen=True):
    """A table as the board keeps it.

    Attributes:
        players: by seat, None where the seat is free.
        bots: by seat, the level of a bot, None elsewhere.
        options: the options' exact JSON.
        opened_at_ms: Unix time.
        shown_position: the last event that changed what the public sees of this table; 0: it never saw any.
    """

    id: str
    game: str
    state: TableState
    options: str
    players: tuple[str | None, ...]
    bots: tuple[str | None, ...]
    host: str
    turn_seconds: int | None
    visibility: Literal["public", "private"]
    rated: bool
    opened_at_ms: int
    playing: Playing | None = None
    shown_position: int = 0

    @property
    def shown(self) -> bool:
        """Whether the table stands on the public board."""
        return self.visibility == "public" and self.state != "closed"


def fold(rows: Mapping[str, Row], batch: Iterable[Recorded]) -> dict[str, Row]:
    """Fold events, in log order, over the rows they concern; return the rows that changed, by table id."""
    now = dict(rows)
    # A match names its table in its first event only. An open table remembers its match.
    table_of = {row.playing.id: row.id for row in rows.values() if row.playing}
    changed: dict[str, Row] = {}
    for recorded in batch:
        event = recorded.event
        if event.type not in TYPES:
            continue
        table = table_of.get(event.stream) if event.stream.startswith("m_") else event.stream
        if table is None:
            continue
        fact = decode(event.type, event.schema, event.body)
        before = now.get(table)
        after = evolve(before, event, fact) if before else _opened(event, fact)
        if after is None or after is before:
            continue
        if _appearance(before) != _appearance(after):
            after = replace(after, shown_position=recorded.position)
        if after.playing:
            table_of[after.playing.id] = table
        now[table] = changed[table] = after
    return changed


def evolve(row: Row, event: Event, fact: Fact) -> Row:
    """Return the row after one event of its table, or of the match being played there."""
    match fact:
        case SettingsChanged():
            more = (None,) * fact.seats
            return replace(
                row, options=bytes(fact.options).decode(), players=(*row.players, *more)[: fact.seats],
                bots=(*row.bots, *more)[: fact.seats], turn_seconds=fact.turn_seconds,
                visibility=fact.visibility, rated=fact.rated,
            )  # fmt: skip
        case PlayerJoined():
            return _seated(row, fact.seat, fact.player, None)
        case BotSeated():
            return _seated(replace(row, rated=False), fact.seat, fact.player, fact.level)  # CP-9.1
        case PlayerMoved():
            moved = _seated(row, fact.to, fact.player, row.bots[fact.seat])
            return _seated(moved, fact.seat, None, None)
        case PlayerLeft():
            return _seated(row, fact.seat, None, None)
        case HostPassed():
            return replace(row, host=fact.player)
        case MatchRequested():
            return replace(row, state="playing", playing=Playing(fact.match))
        case MatchFinished() | TableClosed():
            return replace(row, state="open" if isinstance(fact, MatchFinished) else "closed", playing=None)
        case _:
            # Something of a match; an old one may still have something to say after the next was requested.
            playing = row.playing
            if playing is None or playing.id != event.stream:
                return row
            return replace(row, playing=_progress(playing, event.at_ms, fact))


def _opened(event: Event, fact: Fact) -> Row | None:
    if not isinstance(fact, TableOpened):
        return None
    return Row(
        id=event.stream, game=fact.game, state="open", options=bytes(fact.options).decode(),
        players=(fact.host, *(None,) * (fact.seats - 1)), bots=(None,) * fact.seats, host=fact.host,
        turn_seconds=fact.turn_seconds, visibility=fact.visibility, rated=fact.rated, opened_at_ms=event.at_ms,
    )  # fmt: skip


def _progress(playing: Playing, at_ms: int, fact: Fact) -> Playing:
    match fact:
        case MatchStarted():
            return replace(playing, state="running", started_at_ms=at_ms)
        case RoundStarted():
            return replace(playing, round=fact.round)
        case MatchEnded():
            return replace(playing, state="ended")
        case MatchVoided():
            return replace(playing, state="voided")
        case _:
            return playing


def _seated(row: Row, seat: int, player: str | None, bot: str | None) -> Row:
    return replace(row, players=_with(row.players, seat, player), bots=_with(row.bots, seat, bot))


def _with(seats: tuple[str | None, ...], seat: int, here: str | None) -> tuple[str | None, ...]:
    return (*seats[:seat], here, *seats[seat + 1 :])


def _appearance(row: Row | None) -> Row | None:
    """Return what the public sees of a table: everything, or nothing."""
    return replace(row, shown_position=0) if row is not None and row.shown else None
