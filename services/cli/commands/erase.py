"""``macao erase``: erase a player, or the words of a dispute; the log and everything signed stay as they are."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from services.lobby.tables.seats import Seats
    from services.lobby.tables.table import Table

NAME: Final = "erase"
HELP: Final = "erase a player, or the words of a dispute, and leave the log as it is"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "what",
        metavar="PLAYER",
        help="an id (p_…), the name of an account, or a dispute (d_…) for its words alone",
    )
    parser.add_argument(
        "--yes", action="store_true", help="do it; without this, only say what would be erased"
    )
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Erase, and say what went.

    Raises:
        Advice: there is no such player, or the database cannot be reached.
    """
    import asyncpg

    from services.cli.database import database_of
    from services.runtime.log.errors import LogUnavailableError
    from services.runtime.web.problems import Problem

    try:
        return asyncio.run(_erase(database_of(args.database), args.what, really=args.yes))
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice("this login may not erase: use that of the schema's owner, who migrates.") from error
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as error:
        raise Advice("this database is not up to date: run macao migrate first.") from error
    except (LogUnavailableError, Problem) as error:
        raise Advice("a seat at a table could not be freed at this moment: run this again.") from error
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error


async def _erase(url: str, what: str, *, really: bool) -> int:
    import asyncpg

    from services.contracts.ids import DISPUTE, is_id

    connection: Any = await asyncpg.connect(url)
    try:
        if is_id(DISPUTE, what):
            return await _words(connection, what, really=really)
        return await _player(connection, url, what, really=really)
    finally:
        await connection.close()


async def _player(connection: Any, url: str, wanted: str, *, really: bool) -> int:
    from services.runtime.clock import SystemClock
    from services.runtime.erasing import erase, find
    from services.runtime.tokens.revocations import Transaction

    found = await find(connection, wanted)
    if found is None:
        raise Advice(f"there is no player {wanted}: give an id (p_…) or the name of an account.")
    if found.kind == "bot":
        raise Advice(f"{found.player} is a bot: there is nobody to erase.")
    if found.kind == "erased":
        print(f"{found.player} was erased before; nothing is left to erase.")
        async with _seats(url) as seats:
            _tell(await seats.free(found.player) if really else await seats.of(found.player), really=really)
        return 0
    if not really:
        issuer = f", {found.identities} tie to an external issuer" if found.identities else ""
        print(
            f"{found.player} ({found.kind}, named {found.name!r}) has {found.sessions} sessions, {found.tokens} named"
            f" tokens{issuer}."
        )
        async with _seats(url) as seats:
            _tell(await seats.of(found.player), really=False)
        print("Nothing was erased. Add --yes: it cannot be undone.")
        return 1
    clock = SystemClock()
    async with connection.transaction():
        erased = await erase(Transaction(connection, clock), found.player, clock)
    if erased is None:
        print(f"{found.player} was erased meanwhile.")
        return 0
    print(
        f"{found.player} is erased: the name, {erased.sessions} sessions, {erased.tokens} named tokens,"
        f" {erased.texts} texts in disputes.\nProcesses refuse its tokens within five seconds and forget the name"
        f" within {NAMES_SECONDS} seconds. Backups hold it until they are thrown away."
    )
    # After the name, so that nothing can keep that from going; whoever is interrupted here runs it again.
    async with _seats(url) as seats:
        _tell(await seats.free(found.player), really=True)
    return 0


@asynccontextmanager
async def _seats(url: str) -> "AsyncIterator[Seats]":
    """Give access to the tables; nothing of the service has to run."""
    from services.lobby.tables.seats import Seats
    from services.runtime.clock import SystemClock
    from services.runtime.database import Database
    from services.runtime.log import EventLog
    from services.runtime.settings import Settings

    settings = Settings(database_url=url, secret_key="", database_pool_max=3)  # nothing here is encrypted
    async with Database(settings) as database, EventLog(database) as log:
        yield Seats(database, log, SystemClock())


def _tell(tables: "list[Table]", *, really: bool) -> None:
    for table in tables:
        if table.state == "playing":
            print(
                f"The player sits in the match {table.match}, which is running: it goes on under the neutral name until"
                " a clock or a ruling ends it; then the seat is freed."
            )
        else:
            print(f"The seat at the table {table.id} is {'' if really else 'to be '}freed.")


NAMES_SECONDS: Final = 30
"""For how long a process may remember a name (``services/runtime/players.py``; held against it by a test)."""


async def _words(connection: Any, dispute: str, *, really: bool) -> int:
    count = await connection.fetchval(
        "SELECT count(*) FROM macao_engine.dispute_words WHERE dispute = $1", dispute
    )
    if not count:
        print(f"there are no words of {dispute}: they were erased, or there is no such dispute.")
        return 0
    if not really:
        print(f"{dispute} has {count} texts.\nNothing was erased. Add --yes: it cannot be undone.")
        return 1
    await connection.execute("DELETE FROM macao_engine.dispute_words WHERE dispute = $1", dispute)
    print(f"{count} texts of {dispute} are erased. The ruling itself stands.")
    return 0
