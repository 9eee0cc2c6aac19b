"""The reading side of matches: what a viewer may see of a match, now or at any version of it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from services.contracts.envelope import Event
from services.engine.play.live import Live, LiveMatches
from services.engine.play.positions import Positions
from services.engine.play.pulse import Pulse
from services.engine.play.wire import ClockView, EventPage, MatchView, event_view, match_view
from services.engine.rules.kernel import AUDITOR, SPECTATOR, Viewer
from services.engine.rules.match import Match
from services.runtime.clock import Clock
from services.runtime.log import EventLog
from services.runtime.players import Players

PAGE_EVENTS_MAX: Final = 1000


class Watcher(Struct, frozen=True):
    """Who looks at a match: the seat, if any, and as whom the rules see the viewer."""

    seat: int | None
    viewer: Viewer


class Views:
    """Shows matches. Nothing secret passes here: positions come from ``observe``, events from ``redact``."""

    def __init__(
        self,
        log: EventLog,
        live: LiveMatches,
        positions: Positions,
        players: Players,
        pulse: Pulse,
        clock: Clock,
    ) -> None:
        """Show matches of a log."""
        self._log = log
        self._live = live
        self._positions = positions
        self._players = players
        self._pulse = pulse
        self._clock = clock

    async def find(self, match: str) -> Live | None:
        """Return a match up to its last event, None if there is no such match."""
        return await self._live.refreshed(match)

    async def follow(self, live: Live) -> None:
        """Fold what the stream has beyond the live state."""
        await self._live.catch_up(live)

    def watcher(self, match: Match, player: str | None, *, auditor: bool) -> Watcher | None:
        """Say as whom somebody may look at a match; None: not at all, for a private match that is still running.

        An auditor sees what spectators see until the match is over: nobody may know the cards while they are played.
        """
        seat = None if player is None else match.seat_of(player)
        if match.over:
            return Watcher(seat, AUDITOR)
        if seat is not None:
            return Watcher(seat, seat)
        return Watcher(None, SPECTATOR) if match.started.visibility == "public" or auditor else None

    async def match_view(self, live: Live, watcher: Watcher) -> MatchView:
        """Show the match as it stands."""
        return await self._view(live.match, live.head.version, watcher, self._clock_of(live))

    async def match_view_at(self, live: Live, version: int, watcher: Watcher) -> MatchView | None:
        """Show the match as it stood after the event with this version, None if there is no such version.

        Secrets are shown by the state of the match today: a finished match is open at every version of it.
        """
        if not 1 <= version <= live.head.version:
            return None
        past = await self._positions.at(live.match.started.match, version)
        if past is None:
            return None
        # Between the events of one command the game is in the middle of a decision, and nobody is to act.
        around = await self.events(live, version - 1, 2)
        settled = len(around) < 2 or around[0].command != around[1].command  # noqa: PLR2004
        return await self._view(past, version, watcher, None, settled=settled)

    async def events(self, live: Live, after: int, limit: int) -> list[Event]:
        """Return up to ``limit`` events with versions above ``after``."""
        events: list[Event] = []
        while len(events) < limit:
            asked = min(limit - len(events), PAGE_EVENTS_MAX)
            page = await self._log.read_stream(live.match.started.match, after + len(events), asked)
            events += (recorded.event for recorded in page)
            if len(page) < asked:
                break
        return events

    async def event_page(self, live: Live, after: int, limit: int, watcher: Watcher) -> EventPage:
        """Return a page of events as the viewer may see them."""
        events = await self.events(live, after, limit)
        items = tuple(event_view(event, live.match, watcher.viewer, over=live.match.over) for event in events)
        return EventPage(items, items[-1].version if len(items) == limit else None)

    def _clock_of(self, live: Live) -> ClockView | None:
        """Return the running clock; the time in which the service was down is added to it."""
        seconds = live.match.started.turn_seconds
        if live.turn is None or seconds is None:
            return None
        deadline_ms = live.turn_since_ms + seconds * 1000 + self._pulse.down_since_ms(live.turn_since_ms)
        return ClockView(live.turn, seconds, deadline_ms, self._clock.now_ms())

    async def _view(
        self, match: Match, version: int, watcher: Watcher, clock: ClockView | None, *, settled: bool = True
    ) -> MatchView:
        names = await self._players.names_of(seat.player for seat in match.started.seats)
        return match_view(
            match,
            version,
            seat=watcher.seat,
            viewer=watcher.viewer,
            names=names,
            clock=clock,
            settled=settled,
        )
