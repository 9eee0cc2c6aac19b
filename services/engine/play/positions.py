"""Past positions of matches, cheap however far in: states are kept every few versions, and folded on from there.

The past does not change, so what is kept stays right while a match goes on. A state is shared with those before and
after it as far as they are alike, and costs little.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import groupby
from typing import Final

from msgspec import Struct

from services.contracts.envelope import Link
from services.contracts.events.catalogue import fact_of
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.match import Match
from services.runtime.log import EventLog

EVERY: Final = 64
"""A state is kept at each multiple of this many versions, so no more events than this are read for a known match."""

MATCHES_MAX: Final = 256
KEPT_MAX: Final = 256
"""States of one match; what lies beyond is folded from the last of them."""

PAGE_EVENTS: Final = 1_000


class Kept(Struct, frozen=True):
    """A match after an event, and that event's hash."""

    version: int
    hash: bytes
    match: Match


class Positions:
    """Folds past positions, and remembers some of the matches that were asked for last."""

    def __init__(self, log: EventLog, catalogue: Catalogue) -> None:
        """Fold matches of a log."""
        self._log = log
        self._catalogue = catalogue
        self._kept: OrderedDict[str, list[Kept]] = OrderedDict()

    async def at(self, match: str, version: int) -> Match | None:
        """Return a match as it stood after a version, None if its stream does not go that far."""
        kept = self._kept.setdefault(match, [])
        self._kept.move_to_end(match)
        while len(self._kept) > MATCHES_MAX:
            self._kept.popitem(last=False)
        begun = next((one for one in reversed(kept) if one.version <= version), None)
        position = await self._fold_on(match, version, begun, kept)
        if position is None and begun is not None:
            # What was kept is of a log that has lost its tail since, or the stream ends before.
            self._kept.pop(match, None)
            position = await self._fold_on(match, version, None, [])
        return position

    async def _fold_on(self, match: str, version: int, begun: Kept | None, kept: list[Kept]) -> Match | None:
        at, head, position = (begun.version, begun.hash, begun.match) if begun else (0, None, None)
        while at < version:
            page = await self._log.read_links(match, at, min(version - at, PAGE_EVENTS))
            if not page or (head is not None and page[0].previous != head):
                return None
            for _, run in groupby(page, _run_of):
                links = list(run)
                facts = [fact_of(link) for link in links]
                position = (
                    matches.fold(facts, self._catalogue)
                    if position is None
                    else matches.evolve_all(position, facts)
                )
                if links[-1].version % EVERY == 0:
                    _keep(kept, Kept(links[-1].version, links[-1].hash, position))
            at, head = page[-1].version, page[-1].hash
        return position


def _run_of(link: Link) -> int:
    """Say which run of events one belongs to: each ends with a version at which a state is kept."""
    return (link.version - 1) // EVERY


def _keep(kept: list[Kept], new: Kept) -> None:
    """Add a state in order; others may have added it meanwhile."""
    if len(kept) < KEPT_MAX and (not kept or kept[-1].version < new.version):
        kept.append(new)
