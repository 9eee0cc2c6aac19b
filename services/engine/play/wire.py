"""What of a match goes on the wire: events, the view of a match, the answer to a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, cast, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from services.contracts.envelope import Event
from services.contracts.events.catalogue import encode, fact_of
from services.engine.rules import match as matches
from services.engine.rules.kernel import AUDITOR, Viewer
from services.engine.rules.match import Match

_json: Final = msgspec.json.Encoder().encode


# What is encoded by the games, or was encoded long ago, has its schema under a name of its own (http/documentation.py).
EventData = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/EventData"})]
CauseData = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Cause"})]
GamePosition = Annotated[Any, Meta(extra_json_schema={"$ref": "#/components/schemas/Position"})]
LegalMove = Annotated[Any, Meta(extra_json_schema={"$ref": "#/components/schemas/LegalMove"})]
GameOptions = Annotated[Raw, Meta(extra_json_schema={"type": "object", "additionalProperties": True})]


class EventView(Struct, frozen=True):
    """An event as one viewer may see it.

    Attributes:
        version: its place in the match's stream, from 1; also the id in event streams.
        at_ms: when it was decided, Unix time in milliseconds.
        actor: the player who caused it, or ``lobby`` and ``clock`` for the service.
        command: the command that caused it; all events of a command share it.
        cause: the move behind it, on the first event of a command.
        data: what happened, with the same ``type`` as here.
        seal: commitment to what this event hides from the public while the match runs, or null.
        hash: the head of the chain up to this event (hex).
    """

    version: int
    type: str
    at_ms: int
    actor: str
    command: str
    cause: CauseData | None
    data: EventData
    seal: str | None
    hash: str


class SeatView(Struct, frozen=True):
    """Who sits where. ``seed`` is the player's own contribution to chance; ``name`` is null for a name that is gone."""

    seat: int
    player: str
    name: str | None
    bot: str | None
    seed: str


class ClockView(Struct, frozen=True):
    """The thinking time of the player who must decide next (G10).

    Attributes:
        seat: for whom the clock runs.
        turn_seconds: the time for each move.
        deadline_ms: when it runs out, Unix time in milliseconds.
        now_ms: the service's time, so that a client with a wrong clock can still count down.
    """

    seat: int
    turn_seconds: int
    deadline_ms: int
    now_ms: int


class MatchView(Struct, frozen=True):
    """A match as one viewer may see it.

    Attributes:
        version: the version of the last event; send it as ``If-Match`` with a move.
        your_seat: the seat of the caller, or null.
        view: the position, in the game's own shape, tagged with ``game``.
        turn: the seat that must decide next, whose clock runs; null when the match is over, and at a version between
            the events of one command.
        to_act: every seat that has a legal move, beside its turn as well (a call, a catch).
        legal: act when it is not empty: the caller's legal moves as they can be sent (a stake as its range); ``leave``
            is always open as well.
        places: one per seat when the match has ended, 1 is first, equal results share.
    """

    id: str
    table: str
    game: str
    rules_version: int
    options: GameOptions
    status: Literal["running", "ended", "voided"]
    version: int
    seats: tuple[SeatView, ...]
    your_seat: int | None
    view: GamePosition
    turn: int | None
    to_act: tuple[int, ...]
    legal: tuple[LegalMove, ...]
    clock: ClockView | None
    places: tuple[int, ...] | None
    rated: bool
    visibility: Literal["public", "private"]
    commitment: str
    commitment_number: int


MatchPart = msgspec.defstruct(
    "MatchPart",
    [
        (name, kind | UnsetType, UNSET)
        for name, kind in get_type_hints(MatchView, include_extras=True).items()
    ],
    namespace={"__doc__": "Those fields of a match that were asked for."},
    frozen=True,
    omit_defaults=True,
)


class MoveAnswer(Struct, frozen=True):
    """The answer to an accepted move; a retry with the same key gets the same bytes.

    Attributes:
        version: the version of the match after the move.
        events: what the move led to, as the player who sent it may see it.
        turn: the seat that must decide next, null when the match is over.
        legal: what the player who moved may do now.
    """

    match_id: str
    version: int
    status: Literal["running", "ended", "voided"]
    events: tuple[EventView, ...]
    turn: int | None
    to_act: tuple[int, ...]
    legal: tuple[LegalMove, ...]
    places: tuple[int, ...] | None


class Started(Struct, frozen=True):
    """The answer to the lobby that asked for a match."""

    match_id: str
    version: int


class EventPage(Struct, frozen=True):
    """A page of a match's events; ``next`` is the version to ask on after, null when there is no more for now."""

    items: tuple[EventView, ...]
    next: Annotated[int, Meta(ge=0)] | None


def match_view(
    match: Match,
    version: int,
    *,
    seat: int | None,
    viewer: Viewer,
    names: Mapping[str, str],
    clock: ClockView | None,
    settled: bool = True,
) -> MatchView:
    """Show a match after the event with this version to a viewer, who sits in ``seat`` or in none.

    Where it is not ``settled``, the version lies between the events of one command: nobody is to act then.
    """
    started = match.started
    waiting = matches.pending(match) if settled else None
    return MatchView(
        id=started.match,
        table=started.table,
        game=started.game,
        rules_version=started.rules_version,
        options=Raw(started.options),
        status=match.status,
        version=version,
        seats=tuple(
            SeatView(at, taken.player, names.get(taken.player), taken.bot, taken.seed)
            for at, taken in enumerate(started.seats)
        ),
        your_seat=seat,
        view=match.rules.observe(match.game, viewer),
        turn=waiting.turn if waiting else None,
        to_act=waiting.may_act if waiting else (),
        legal=matches.legal(match, seat) if settled and seat is not None else (),
        clock=clock,
        places=match.places,
        rated=started.rated,
        visibility=started.visibility,
        commitment=started.commitment,
        commitment_number=started.commitment_number,
    )


def event_view(event: Event, match: Match, viewer: Viewer, *, over: bool) -> EventView:
    """Show an event to a viewer; ``over`` says that the match has ended, and with it every secret (G5)."""
    if event.sealed is None:
        data = event.body
    elif over or viewer == AUDITOR:
        data = event.sealed
    else:
        data = encode(matches.redact(match.rules, fact_of(event), viewer))
    return EventView(
        version=event.version, type=event.type, at_ms=event.at_ms, actor=event.actor, command=event.command,
        cause=None if event.cause is None else Raw(event.cause), data=Raw(data),
        seal=None if event.seal is None else event.seal.hex(), hash=event.hash.hex(),
    )  # fmt: skip


class EventBytes:
    """Events of one command as JSON, for all who may see them. What everybody sees alike is encoded once."""

    __slots__ = ("_public",)

    def __init__(self) -> None:
        self._public: dict[int, bytes] = {}

    def of(self, event: Event, match: Match, viewer: Viewer) -> bytes:
        """Return ``event_view`` as JSON, for a match that stands behind the command."""
        if event.sealed is not None:
            return _json(event_view(event, match, viewer, over=match.over))
        known = self._public.get(event.version)
        if known is None:
            known = self._public[event.version] = _json(event_view(event, match, viewer, over=match.over))
        return known


def move_answer(match: Match, seat: int, events: Sequence[Event], encoded: EventBytes) -> bytes:
    """Return the answer to the player in ``seat`` whose move led to ``events`` and to this state of the match."""
    waiting = matches.pending(match)
    return _json(
        MoveAnswer(
            match_id=match.started.match,
            version=events[-1].version,
            status=match.status,
            events=cast("Any", tuple([Raw(encoded.of(event, match, seat)) for event in events])),
            turn=waiting.turn if waiting else None,
            to_act=waiting.may_act if waiting else (),
            legal=matches.legal(match, seat),
            places=match.places,
        )
    )
