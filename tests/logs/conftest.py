"""Logs beside the main one: on the main server, and in other databases."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from services.runtime.bus import Bell
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.logs import SpreadLog
from tests.store.writers import Stream, settings_for


@asynccontextmanager
async def spread(
    database: str,
    servers: str = "",
    told: Callable[[str, bool], None] = lambda _log, _lost: None,
    **more: object,
) -> AsyncIterator[SpreadLog]:
    """Open all logs, as one process does."""
    settings = settings_for(database, log_servers=servers, **{"poll_seconds": 0.05, **more})
    async with Database(settings) as main, Bell(settings) as bell, SpreadLog(main, bell, told=told) as log:
        yield log


def stream_in(log: str, kind: str = "m") -> Stream:
    """Return a new stream that lives in a log."""
    stream = Stream(kind=kind)
    if log == "main":
        return stream
    kind, _, rest = stream.id.partition("_")
    return Stream(f"{kind}_{log}.{rest}")


async def write(log: EventLog, stream: Stream, *bodies: bytes) -> None:
    item = stream.next(*bodies)
    await log.append(item)
    stream.took(item)
