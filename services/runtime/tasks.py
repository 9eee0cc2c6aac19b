"""Ending what runs in the background."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

_logger: Final = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 1.0
"""How long a task may take to end before it is told again."""


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until all have ended; what they raise stays with them.

    They are told again as long as it takes. A library may lose a cancellation that arrives in the same moment as what
    it waits for, and whoever then waits for the end of the task would wait for ever.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=AGAIN_SECONDS)
        for task in running:
            _logger.warning("the task %s has not ended yet", task.get_name())
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.debug("the task %s ended with %r", task.get_name(), error)
