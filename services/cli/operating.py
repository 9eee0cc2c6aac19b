"""What the commands share that look after the projections: the database, the projection by its name, a rebuild."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import asyncpg
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from services.cli.advice import Advice
from services.projections.catalogue import PROJECTIONS
from services.projections.rebuilding import BusyError, RebuildError, Rebuilding, StoppedError
from services.projections.rebuilds import Purpose, Reason, Rebuild, Rebuilds
from services.runtime.database import Database, hang_up
from services.runtime.log import EventLog
from services.runtime.logs import SpreadLog
from services.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from services.projections.projection import Projection

POOL_MAX: Final = 3
"""Connections of a command; it reads of several logs at a time, if there are any."""

WATCH_SECONDS: Final = 0.25
"""How often it is looked how far a rebuild has come that another process does."""


class Desk:
    """An operator's place at a database.

    Attributes:
        database: where the projections are.
        connection: one for whatever is short.
        log: all logs.
    """

    def __init__(
        self, url: str, connection: asyncpg.Connection[Any], database: Database, log: EventLog
    ) -> None:
        self.url: Final = url
        self.connection: Final = connection
        self.database: Final = database
        self.log: Final = log
        self.rebuilds: Final = Rebuilds(self.log.schema)


@asynccontextmanager
async def desk(url: str) -> AsyncIterator[Desk]:
    """Open an operator's place.

    Raises:
        Advice: the database cannot be reached, or holds nothing of ours.
    """
    servers = os.environ.get("MACAO_LOG_SERVERS", "")
    database = Database(
        Settings(database_url=url, log_servers=servers, secret_key="", database_pool_max=POOL_MAX)
    )  # nothing here is encrypted
    try:
        connection = await database.connect("operator")
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error
    try:
        async with database, SpreadLog(database, writes=False) as log:
            yield Desk(url, connection, database, log)
    except SettingsError as error:
        raise Advice(f"{error}.") from error
    except (
        asyncpg.UndefinedTableError,
        asyncpg.UndefinedColumnError,
        asyncpg.UndefinedFunctionError,
    ) as error:
        raise Advice(
            f"this database is not at the present schema ({error}): run macao migrate first."
        ) from error
    except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError) as error:
        raise Advice(f"the connection to the database broke: {error}") from error
    finally:
        await hang_up(connection)


def all_projections() -> list[Projection]:
    """Return every projection."""
    return [kind() for kind in PROJECTIONS]


def projections_named(names: Sequence[str]) -> list[Projection]:
    """Return projections by their names.

    Raises:
        Advice: there is none of such a name, and which there are.
    """
    known = {projection.NAME: projection for projection in all_projections()}
    for name in names:
        if name not in known:
            raise Advice(f"there is no projection {name}: choose among {', '.join(known)}.")
    return [known[name] for name in names]


async def rebuild(
    at: Desk, projection: Projection, reason: Reason, purpose: Purpose, console: Console
) -> Rebuild:
    """Build a projection anew, or watch the process that does already; return how it ended.

    Raises:
        Advice: it failed, or was interrupted.
    """
    name = projection.NAME
    await at.rebuilds.request(at.connection, name, projection.VERSION, reason, purpose)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f} of {task.total:,.0f} events"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(name, total=await at.log.head_position(connection=at.connection))

        def told(position: int, head: int) -> None:
            progress.update(task, completed=position, total=max(head, position))

        asked_to_stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, asked_to_stop.set)
        try:
            await Rebuilding(
                at.database, at.log, projection, purpose, told=told, stopping=asked_to_stop.is_set
            ).run()
        except BusyError:
            await _watch(at, name, told, asked_to_stop)
        except StoppedError:
            await at.rebuilds.end(at.connection, name, error="interrupted by Ctrl-C")
            raise Advice("interrupted; nothing was changed, and nothing is left behind.") from None
        except RebuildError as error:
            raise Advice(f"{name} could not be built anew: {error}.") from error
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        ended = await at.rebuilds.of(at.connection, name)
        assert ended is not None  # noqa: S101 - it was asked for above
        told(ended.position, ended.position)
    if ended.state == "failed":
        raise Advice(f"{name} could not be built anew: {ended.last_error}.")
    return ended


async def _watch(at: Desk, name: str, told: Any, asked_to_stop: asyncio.Event) -> None:
    """Follow a rebuild that another process does."""
    while not asked_to_stop.is_set():
        now = await at.rebuilds.of(at.connection, name)
        if now is None or now.state in {"done", "failed"}:
            return
        told(now.position, now.head)
        if not await at.rebuilds.is_worked_on(at.connection, name):
            raise Advice(f"the process that built {name} has gone: run this again.")
        await asyncio.sleep(WATCH_SECONDS)
    raise Advice("another process goes on with it: macao projections shows how far it is.")
