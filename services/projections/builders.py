"""The rebuilds that a process of the service does: whatever stands in the list, one after the other.

Folding takes the processor for itself; so a rebuild runs in a thread with an event loop of its own, and requests go on
being answered. A process that ends leaves the request behind, for the next one to begin again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from services.projections.projection import Projection
from services.projections.rebuilding import BusyError, Outcome, RebuildError, Rebuilding, StoppedError
from services.projections.rebuilds import Purpose, Rebuild, Rebuilds
from services.runtime.platform import Platform

_logger: Final = logging.getLogger(__name__)


class Builders:
    """Works off the list of rebuilds for the projections of this process.

    Args:
        switched: told the projection and the position when new tables have taken over.
    """

    def __init__(
        self,
        platform: Platform,
        projections: Sequence[Projection],
        switched: Callable[[Projection, int], None],
    ) -> None:
        self._platform = platform
        self._projections = {projection.NAME: projection for projection in projections}
        self._switched = switched
        self._rebuilds = Rebuilds(platform.log.schema)
        self._stopping = threading.Event()

    async def run(self) -> None:
        """Look for work now and then, until cancelled; a rebuild under way is stopped then, and stays in the list."""
        self._stopping.clear()
        try:
            while True:
                await asyncio.sleep(self._platform.settings.poll_seconds)
                try:
                    await self._look()
                except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                    _logger.warning("the rebuilds could not be looked at: %r", error)
        finally:
            self._stopping.set()

    async def _look(self) -> None:
        pool = self._platform.database.pool
        for name, wanted in (await self._rebuilds.open(pool)).items():
            projection = self._projections.get(name)
            if projection is None or wanted.version != projection.VERSION:
                continue  # another process has the code for it
            if not await self._rebuilds.is_worked_on(pool, name):
                await self._build(projection, wanted)

    async def _build(self, projection: Projection, wanted: Rebuild) -> None:
        _logger.info("building %s anew (%s)", projection.NAME, wanted.reason)
        try:
            outcome = await asyncio.to_thread(self._in_a_loop_of_its_own, projection, wanted.purpose)
        except BusyError:
            return
        except RebuildError as error:
            _logger.error("%s could not be built anew: %s", projection.NAME, error)  # noqa: TRY400 - it says all
            return
        except StoppedError:
            return
        _logger.info("%s was built anew up to position %d", projection.NAME, outcome.position)
        if wanted.purpose == "switch":
            self._switched(projection, outcome.position)

    def _in_a_loop_of_its_own(self, projection: Projection, purpose: Purpose) -> Outcome:
        async def build() -> Outcome:
            async with self._platform.log.apart() as log:
                return await Rebuilding(
                    self._platform.database, log, projection, purpose, stopping=self._stopping.is_set
                ).run()

        return asyncio.run(build())
