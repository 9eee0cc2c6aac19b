"""One match as a stream: a snapshot, then every event as this viewer may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from services.contracts.envelope import Event
from services.engine.play.live import Advance, Live
from services.engine.play.views import Views, Watcher
from services.engine.play.wire import EventBytes
from services.engine.rules.match import Match
from services.runtime.web.frames import Frame
from services.runtime.web.streams import frame

FRAMES_MAX: Final = 256

_encode: Final = msgspec.json.Encoder().encode


class MatchSource:
    """What one kind of viewer is told of a match."""

    def __init__(self, views: Views, live: Live, watcher: Watcher) -> None:
        """Tell of ``live`` what ``watcher`` may see."""
        self._views = views
        self._live = live
        self._watcher = watcher

    @property
    def stream(self) -> str:
        """The match's id."""
        return self._live.match.started.match

    @property
    def audience(self) -> str:
        """Viewers in one seat see the same, and so do all spectators."""
        return str(self._watcher.viewer)

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        """Return the view at a version (at the first for 0), or at the newest."""
        if at is not None and at < self._live.head.version:
            # There is no version 0: who has nothing yet begins with the first event.
            past = await self._views.match_view_at(self._live, max(at, 1), self._watcher)
            if past is not None:
                return past.version, _encode(past)
        view = await self._views.match_view(self._live, self._watcher)
        return view.version, _encode(view)

    async def frames(self, after: int) -> Sequence[Frame]:
        """Return the events behind a version."""
        events = await self._views.events(self._live, after, FRAMES_MAX)
        if events and self._live.head.version < events[-1].version:
            await self._views.follow(self._live)
        return self._frames(events, self._live.match, EventBytes())

    def frames_of(self, news: object, /) -> Sequence[Frame]:
        """Return the events of a commit of this process."""
        return self._frames(news.events, news.match, news.encoded) if isinstance(news, Advance) else ()

    def _frames(self, events: Sequence[Event], match: Match, encoded: EventBytes) -> Sequence[Frame]:
        viewer = self._watcher.viewer
        return [frame(event.type, event.version, encoded.of(event, match, viewer)) for event in events]
