"""What is done about a log that has lost its tail: a standby that was behind took over, or an old backup was restored.

The reading order knows events that are no more. It is cut where the first of them stood, and everything behind is taken
in anew, of all logs; what projections had worked out from there on is built anew. What engine and lobby keep beside the
log is not: their subscriptions stop with ``lost-tail``, as with one log (docs/operations.md#projectionstopped).
"""

from __future__ import annotations

from typing import Any, Final

from asyncpg import Connection

from services.runtime.log.event_log import schema_of
from services.runtime.logs.adding import LogsError, Sites, one_listed
from services.runtime.logs.servers import MAIN

_NEWEST_FIRST: Final = """
SELECT position, log_position, events, hash FROM macao_runtime.reading_order
WHERE log = $1 AND log_position < $2 ORDER BY log_position DESC LIMIT 500
"""


async def mend(sites: Sites, name: str) -> str:
    """Cut the reading order before what a log has lost; say what was done.

    Raises:
        LogsError: there is no such log, it is not to be reached, or it has lost nothing.
    """
    main = await sites.connect(MAIN)
    try:
        log = await one_listed(main, name)
        there = await sites.connect(log.server)
        try:
            async with main.transaction():
                # Nobody takes anything in meanwhile, and who was about to finds that it does not fit any more.
                await main.execute("LOCK TABLE macao_runtime.reading_order IN SHARE ROW EXCLUSIVE MODE")
                first = await _first_lost(main, there, name)
                if first is None:
                    raise LogsError(f"the log {name} holds everything that was read of it")
                cut = await main.fetchval(
                    "WITH gone AS (DELETE FROM macao_runtime.reading_order WHERE position >= $1 RETURNING events) "
                    "SELECT coalesce(sum(events), 0)::bigint FROM gone",
                    first,
                )
        finally:
            await there.close()
    finally:
        await main.close()
    return (
        f"{cut} events are taken in anew, from position {first} of the reading order on. "
        "Now build all projections anew: macao rebuild --all"
    )


async def _first_lost(main: Connection[Any], there: Connection[Any], name: str) -> int | None:
    """Return where the first stretch ends in the order whose last event the log does not hold; None for none."""
    holds = f"SELECT hash FROM {schema_of(name)}.events WHERE position = $1"  # noqa: S608 - our name
    first: int | None = None
    before = 1 << 62
    while rows := await main.fetch(_NEWEST_FIRST, name, before):
        for position, log_position, _events, digest in rows:
            if await there.fetchval(holds, log_position) == digest:
                return first
            first, before = position, log_position
    return first
