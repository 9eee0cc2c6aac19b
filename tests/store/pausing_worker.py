"""A process that leads a subscription and stops itself (SIGSTOP) at a chosen point of its first page with work in it.

Run as a script: the database's URL, the lease in seconds, and where to stop: ``reading`` (a page was read, nothing has
begun), ``writing`` (in the transaction, with rows written), ``idle`` (everything is worked off).
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

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.runtime.database import Database
from services.runtime.log import EventLog, Page
from services.runtime.subscription import Subscription
from tests.store.writers import settings_for

NAME = "pausing"
TABLE = "CREATE TABLE public.pausing (position bigint NOT NULL, pid bigint NOT NULL)"
RIGHTS = "GRANT ALL ON public.pausing TO macao_app"


def pause() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


async def apply(connection: Connection[Any], batch: list[Recorded]) -> None:
    await connection.executemany(
        "INSERT INTO public.pausing VALUES ($1, $2)", [(recorded.position, os.getpid()) for recorded in batch]
    )


class Pausing(Subscription):
    """Stops its process once."""

    where = ""

    async def _read(self, connection: Connection[Any]) -> Page:
        page = await super()._read(connection)
        if (self.where == "reading" and page.events) or (
            self.where == "idle" and self._position and not page.events
        ):
            self.where = ""
            pause()
        return page


async def main(database_url: str, lease_seconds: float, where: str) -> None:
    async def apply_and_pause(connection: Connection[Any], batch: list[Recorded]) -> None:
        await apply(connection, batch)
        if subscription.where == "writing":
            subscription.where = ""
            pause()

    async with Database(settings_for(database_url)) as database:
        subscription = Pausing(
            database, EventLog(database), None, NAME, 1, apply_and_pause, lease_seconds=lease_seconds
        )
        subscription.where = where
        await subscription.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), sys.argv[3]))
