"""A process that works a log off into a table, until it is killed. Run as a script, with the database's URL.

What it keeps is made so that a page lost or done twice shows: a digest over everything, in order, and a sum.
"""

from __future__ import annotations

import asyncio
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.subscription import Subscription
from tests.store.writers import settings_for

NAME = "counting"
TABLE = (
    "CREATE TABLE public.counting (one boolean PRIMARY KEY, events bigint NOT NULL, digest bytea NOT NULL)"
)
RIGHTS = "GRANT ALL ON public.counting TO macao_app"


def fold(digest: bytes, batch: list[Recorded]) -> bytes:
    for recorded in batch:
        digest = sha256(digest + recorded.position.to_bytes(8, "big") + recorded.event.hash).digest()
    return digest


async def apply(connection: Connection[Any], batch: list[Recorded]) -> None:
    before = await connection.fetchval("SELECT digest FROM public.counting") or b""
    await connection.execute(
        "INSERT INTO public.counting VALUES (true, $1, $2) "
        "ON CONFLICT (one) DO UPDATE SET events = counting.events + $1, digest = $2",
        len(batch),
        fold(before, batch),
    )


async def main(database_url: str) -> None:
    async with Database(settings_for(database_url)) as database:
        await Subscription(database, EventLog(database), None, NAME, 1, apply, page_max=7).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
