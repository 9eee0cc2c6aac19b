"""The writer of ratings: appends to the log what the rater decides, whenever the leaderboards have moved.

It holds nothing that could be lost. Killed before an append, it decides the same again; killed after it, it finds the
events in the tables. Any number of processes may run one: the log takes the events of whoever comes first, and the
others find that the stream has moved on, and look again. The tables may be behind: what is decided on them is then
refused just so.
"""

from __future__ import annotations

import asyncio
import logging
from hashlib import sha256
from typing import ClassVar, Final

from services.contracts.envelope import Draft, Recorded, chain
from services.contracts.events.catalogue import encode
from services.contracts.ids import RATINGS, ratings_of
from services.projections.leaderboards.rater import Order, Rater
from services.projections.leaderboards.tables import Leaderboards
from services.runtime.database import connection_broke
from services.runtime.log import Append, Appended, LogUnavailableError
from services.runtime.platform import Platform

ACTOR: Final = "ratings"
"""Who the events of the writer are caused by."""

AGAIN_SECONDS: Final = 1.0
"""How long the writer rests after an error."""

FOLDED_SECONDS: Final = 5.0
"""How long the writer waits for the tables to hold what it wrote, before it tries its luck."""

_CONCERN: Final = frozenset({"match-ended", "match-voided"})

_logger: Final = logging.getLogger(__name__)


class RatingsWriter:
    """Applies finished matches, one after another, and takes back those that were voided.

    Attributes:
        EVENTS_MAX: the most events of one command: what is written at once, and folded at once.
    """

    EVENTS_MAX: ClassVar = 500

    def __init__(self, platform: Platform, boards: Leaderboards) -> None:
        self._platform = platform
        self._rater = Rater(boards, events_max=self.EVENTS_MAX)
        self._wake = asyncio.Event()
        self._written: dict[str, tuple[int, float]] = {}
        self._results_first = False

    def look(self, page: list[Recorded]) -> None:
        """Hear that the leaderboards have worked off a page of the log."""
        if any(
            recorded.event.stream.startswith(f"{RATINGS}_") or recorded.event.type in _CONCERN
            for recorded in page
        ):
            self._wake.set()

    async def run(self) -> None:
        """Write until cancelled. Another process may have worked the page off, so it looks now and then anyway."""
        while True:
            self._wake.clear()
            try:
                await self.write()
            except Exception as error:
                if connection_broke(error) or isinstance(error, LogUnavailableError):
                    _logger.warning("the writer of ratings is without its database: %r", error)
                else:
                    _logger.exception("the writer of ratings failed; it begins again")
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            try:
                async with asyncio.timeout(self._platform.settings.poll_seconds):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def write(self) -> int:
        """Append what there is to be written now, one command a game; return how many events were taken."""
        orders = await self._orders()
        return sum(await asyncio.gather(*(self._append(order) for order in orders)))

    async def _orders(self) -> list[Order]:
        self._results_first = not self._results_first
        orders: list[Order] = []
        now = asyncio.get_running_loop().time()
        pool = self._platform.database.pool
        async with (
            pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            for game in await self._rater.games(connection):
                # What was written a moment ago and is not folded yet would be decided once more, and refused.
                version, patience = self._written.get(game, (0, 0.0))
                if now < patience and (await self._rater.head(connection, game)).version < version:
                    continue
                order = await self._rater.next(connection, game, results_first=self._results_first)
                if order is not None:
                    orders.append(order)
        return orders

    async def _append(self, order: Order) -> int:
        drafts = [Draft(str(fact.__struct_config__.tag), fact.SCHEMA, encode(fact)) for fact in order.facts]
        stream = ratings_of(order.game)
        events = chain(
            order.expected, drafts, stream=stream, actor=ACTOR, command=order.command,
            at_ms=self._platform.clock.now_ms(), cause=None,
        )  # fmt: skip
        outcome = await self._platform.log.append(
            Append(
                stream=stream, kind=RATINGS, expected=order.expected, events=tuple(events),
                command=order.command, request_hash=sha256(b"\n".join(draft.body for draft in drafts)).digest(),
                answer=b"{}",
            )
        )  # fmt: skip
        if not isinstance(outcome, Appended):
            _logger.info("the ratings of %s were written by somebody else: %s", order.game, outcome)
            return 0
        patience = asyncio.get_running_loop().time() + FOLDED_SECONDS
        self._written[order.game] = (outcome.version, patience)
        return len(order.facts)
