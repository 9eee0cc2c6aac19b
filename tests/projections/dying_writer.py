"""The projections, until the writer of ratings dies with SIGKILL around an append. Run as a script.

Arguments: the database's URL, how many appends succeed before, and the moment: ``before`` the next one is sent, or
``after`` it was committed and nobody has been told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from services.projections.leaderboards.writer import RatingsWriter
from tests.projections.support import running


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(database: str, appends: int, moment: str) -> None:
    append = RatingsWriter._append
    done = 0

    async def append_and_die(self: RatingsWriter, order: Any) -> int:
        nonlocal done
        if done == appends and moment == "before":
            die()
        written = await append(self, order)
        if done == appends:
            die()
        done += 1
        return written

    RatingsWriter._append = append_and_die  # type: ignore[method-assign]
    RatingsWriter.EVENTS_MAX = 3
    async with running(database):
        await asyncio.sleep(60)
    raise AssertionError("still alive")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
