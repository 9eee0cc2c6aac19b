"""Keeps the bots of this process playing: claims matches, plays each in a task, and lets go of what is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from services.engine.bots.leases import CLAIM_MAX, HOLD_SECONDS, Leases
from services.engine.bots.player import BotPlayer
from services.runtime.bus import Bell
from services.runtime.database import connection_broke
from services.runtime.log import LogUnavailableError
from services.runtime.tasks import end

RENEW_SECONDS: Final = HOLD_SECONDS / 3
ROSTER_SECONDS: Final = 0.25
"""How long the roster is given to enter a match whose start has just rung."""
AGAIN_SECONDS: Final = 1.0
"""How long a match is left alone after something went wrong in it."""

_logger: Final = logging.getLogger(__name__)


class Runner:
    """One in every engine process."""

    def __init__(self, leases: Leases, bell: Bell, player: Callable[[str], BotPlayer]) -> None:
        """Play matches with players that ``player`` makes, given the match."""
        self._leases = leases
        self._bell = bell
        self._player = player
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._renewed_at = 0.0

    async def run(self) -> None:
        """Play until cancelled; a database that is away is waited for."""
        try:
            with self._bell.listen() as ear:
                while True:
                    await self._look()
                    await ear.wait(RENEW_SECONDS)
                    await asyncio.sleep(ROSTER_SECONDS)
        finally:
            await self._stop()

    async def _look(self) -> None:
        """Say that this process lives, now and then, and take on what nobody plays."""
        now = asyncio.get_running_loop().time()
        try:
            if now - self._renewed_at >= RENEW_SECONDS:
                held = await self._leases.renew()
                self._renewed_at = now
                for match in self._playing.keys() - held:
                    self._playing.pop(match).cancel()
            while True:
                claimed = await self._leases.claim()
                for match in claimed - self._playing.keys():
                    self._playing[match] = asyncio.create_task(self._play(match))
                if len(claimed) < CLAIM_MAX:
                    return
        except Exception as error:
            if not connection_broke(error):
                raise
            _logger.warning("bots wait for the database: %r", error)

    async def _play(self, match: str) -> None:
        """Play a match to its end, however often something goes wrong in it."""
        while True:
            try:
                await self._player(match).run()
                await self._leases.strike(match)
            except Exception as error:
                if connection_broke(error) or isinstance(error, LogUnavailableError):
                    _logger.warning("the bots of %s wait: %r", match, error)
                else:
                    _logger.exception("the bots of %s stumbled", match)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    async def _stop(self) -> None:
        await end(*self._playing.values())
        try:
            await self._leases.release()
        except Exception as error:
            if not connection_broke(error):
                raise
            _logger.warning("the bots' matches were not given back: %r", error)
