"""A match step by step: forward, back, through anybody's eyes, and what could have been played."""

from __future__ import annotations

from typing import Annotated, Final

from litestar import Response, get
from litestar.params import FromPath, Parameter
from msgspec import Struct

from services.contracts.envelope import Event
from services.contracts.events.catalogue import fact_of
from services.engine.disputes.speech import Speech
from services.engine.http.playing import watched
from services.engine.play.live import Live
from services.engine.play.positions import Positions
from services.engine.play.views import Views, Watcher
from services.engine.play.wire import EventView, GamePosition, LegalMove, event_view
from services.engine.rules import match as matches
from services.engine.rules.kernel import AUDITOR, SPECTATOR, Viewer
from services.engine.rules.match import Match
from services.engine.words.positions import position
from services.runtime.web.operations import Conditional
from services.runtime.web.problems import Problem
from services.runtime.web.reading import PRIVATE, answer
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals
from services.runtime.web.streams import VERSION_MAX

EVERYBODY: Final = "everybody"


class StepChoice(Struct, frozen=True):
    """What one seat could have played; ``words`` has a few words for each of ``legal``."""

    seat: int
    legal: tuple[LegalMove, ...]
    words: tuple[str, ...]


class Happened(Struct, frozen=True):
    """An event, as the viewer may see it, and in a sentence."""

    event: EventView
    words: str


class StepView(Struct, frozen=True):
    """One step of a match.

    Attributes:
        version: the step's own; ``last`` is the match's last one.
        back: the version to step back to, null at the start.
        forward: the version to step forward to, null at the end.
        viewer: through whose eyes: a seat's number, ``spectator``, or ``everybody`` when all lies open.
        happened: the event of this version.
        settled: whether its command ends here: only then is this a position in which somebody decided.
        view: the position after it, in the game's own shape.
        table: the same in sentences.
        could: what could have been played here, by those of whom the viewer may know it.
        then: the event that followed, null at the end.
    """

    match_id: str
    version: int
    last: int
    back: int | None
    forward: int | None
    viewer: str
    happened: Happened
    settled: bool
    view: GamePosition
    table: tuple[str, ...]
    could: tuple[StepChoice, ...]
    then: Happened | None


@get(
    "/matches/{match_id:str}/steps/{version:int}",
    tags=["records"],
    operation_id="get_step",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-damaged", "match-not-over", "no-such-seat"),
    summary="One step of a match",
)
async def get_step(
    request: Request,
    match_id: FromPath[str],
    version: Annotated[int, Parameter(ge=1, le=VERSION_MAX, description="The version to stand at.")],
    viewer: Annotated[
        str | None,
        Parameter(
            pattern=r"^(spectator|everybody|[0-9]{1,2})$",
            description="Through whose eyes: a seat's number, `spectator` or `everybody`. While the match runs your"
            " own seat or `spectator`; after the end anybody, and `everybody` by default.",
        ),
    ] = None,
) -> Response[StepView]:
    """Return what happened with a version, how the match stood after it, what could be played, and what followed."""
    live, watcher = await watched(request, match_id)
    seen_by = _viewer(live, watcher, viewer)
    if version > live.head.version:
        raise Problem(
            "not-found", f"The match has the versions 1 to {live.head.version}.", params={"at": version}
        )
    events = await request.the(Views).events(live, version - 1, 2)
    past = await request.the(Positions).at(match_id, version)
    if past is None or not events:
        raise Problem("unavailable")
    started = live.match.started
    names = await request.platform.players.names_of(seat.player for seat in started.seats)
    speech = Speech(started, names)
    settled = len(events) == 1 or events[1].command != events[0].command
    view = past.rules.observe(past.game, seen_by)
    step = StepView(
        match_id=match_id,
        version=version,
        last=live.head.version,
        back=version - 1 if version > 1 else None,
        forward=version + 1 if version < live.head.version else None,
        viewer=EVERYBODY if seen_by == AUDITOR else str(seen_by),
        happened=_happened(events[0], live, seen_by, speech),
        settled=settled,
        view=view,
        table=position(view, speech.name),
        could=_could(past, seen_by, speech) if settled else (),
        then=_happened(events[1], live, seen_by, speech) if len(events) > 1 else None,
    )
    return answer(request, step, PRIVATE)


def _viewer(live: Live, watcher: Watcher, wanted: str | None) -> Viewer:
    """Return through whose eyes to look.

    Raises:
        Problem: the match is running, and these are not the caller's; or there is no such seat.
    """
    if wanted is None:
        return watcher.viewer
    viewer: Viewer = AUDITOR if wanted == EVERYBODY else SPECTATOR
    if wanted.isdigit():
        viewer = int(wanted)
        if viewer >= len(live.match.started.seats):
            raise Problem("no-such-seat", params={"seat": viewer, "seats": len(live.match.started.seats)})
    if not live.match.over and viewer not in (watcher.viewer, SPECTATOR):
        raise Problem("match-not-over", "What others see can be looked at when the match is over.")
    return viewer


def _happened(event: Event, live: Live, viewer: Viewer, speech: Speech) -> Happened:
    fact = matches.redact(live.match.rules, fact_of(event), viewer)
    return Happened(event_view(event, live.match, viewer, over=viewer == AUDITOR), speech.sentence(fact))


def _could(past: Match, viewer: Viewer, speech: Speech) -> tuple[StepChoice, ...]:
    """Return what could have been played: by everybody where all lies open, else by the viewer's seat alone."""
    waiting = matches.pending(past)
    seats = waiting.may_act if waiting else ()
    return tuple(
        StepChoice(seat, legal, tuple(map(speech.move, legal)))
        for seat in seats
        if viewer in (AUDITOR, seat)
        for legal in [matches.legal(past, seat)]
    )
