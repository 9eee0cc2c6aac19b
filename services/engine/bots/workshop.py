"""A process of its own in which bots think, so that their thoughts take nothing from the event loop of the service.

It is started when the first bot has to think, gives way to the service where processors are short, and ends with it,
also when that is killed. It gets a bot, what the bot may know, and the seed of its random source; nothing else.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from random import Random
from typing import Final

from services.engine.bots.bot import Choose, Situation
from services.engine.rules.kernel import Move

NICENESS: Final = 5


class Workshop:
    """The process, and another one if it dies."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._pool: ProcessPoolExecutor | None = None

    async def ask(self, choose: Choose, seen: Situation, seed: bytes) -> Move | None:
        """Return what a bot answers; what it raises is raised here.

        Raises:
            BrokenProcessPool: the process died over it, twice.
        """
        loop = asyncio.get_running_loop()
        pool = self._opened()
        try:
            return await loop.run_in_executor(pool, _answer, choose, seen, seed)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
            return await loop.run_in_executor(self._opened(), _answer, choose, seen, seed)

    def close(self) -> None:
        """Let the process end."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _opened(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_settle_in)
        return self._pool


def _answer(choose: Choose, seen: Situation, seed: bytes) -> Move | None:
    return choose(seen, Random(seed))  # noqa: S311 - the seed is secret


def _settle_in() -> None:
    """Give way to the service, leave Ctrl-C to it, and end with it."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def end_with_parent() -> None:
            parent.join()
            os._exit(0)

        threading.Thread(target=end_with_parent, daemon=True).start()
