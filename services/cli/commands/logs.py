"""``macao logs``: which logs there are, and what is done about them: add, open, close, move, mend."""

import argparse
import asyncio
import os
from typing import TYPE_CHECKING, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from services.runtime.logs.adding import Sites

NAME: Final = "logs"
HELP: Final = "show the logs, add one, move one to another server while it serves"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        f"{HELP}. Servers other than the main one are those of MACAO_LOG_SERVERS; to change anything, "
        "with logins that own the schemas."
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the main database (MACAO_DATABASE_URL, or that of the running macao up)",
    )
    doing = parser.add_subparsers(dest="doing", metavar="WHAT")
    add = doing.add_parser("add", help="make a new log; matches begin in it from then on")
    add.add_argument("name", help="small letters and digits; it stands in the ids of its matches")
    add.add_argument("--server", default="main", help="on which server (main)")
    add.add_argument(
        "--if-missing",
        action="store_true",
        help="be content where there is one of that name, wherever it lives",
    )
    add.add_argument(
        "--partitions", metavar="N", type=int, help="cut its events into so many partitions (2, 4, 8 … 256)"
    )
    for word, does in (
        ("open", "have new matches begin in a log"),
        ("close", "have no new matches begin in it"),
    ):
        doing.add_parser(word, help=does).add_argument("name")
    move = doing.add_parser("move", help="move a log to another server while it serves")
    move.add_argument("name")
    move.add_argument("--to", dest="server", metavar="SERVER", required=True)
    move.add_argument(
        "--partitions",
        metavar="N",
        type=int,
        help="cut its events there into so many partitions; 1: have them in one table (as they are now)",
    )
    doing.add_parser(
        "unfence", help="have a log be written to again where it is, after a move that failed"
    ).add_argument("name")
    doing.add_parser(
        "mend", help="read a log on that has lost its tail; everything worked out from it is built anew"
    ).add_argument("name")


def run(args: argparse.Namespace) -> int:
    """Do it, and say what was done.

    Raises:
        Advice: it cannot be done, and why.
    """
    import asyncpg

    from services.cli.database import database_of
    from services.runtime.logs.adding import LogsError, Sites
    from services.runtime.logs.servers import parse_log_servers
    from services.runtime.migrate import MigrationError
    from services.runtime.settings import SettingsError

    try:
        sites = Sites(database_of(args.database), parse_log_servers(os.environ.get("MACAO_LOG_SERVERS", "")))
        print(asyncio.run(_done(sites, args)))
    except (LogsError, MigrationError, SettingsError) as error:
        raise Advice(f"{error}.") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice(f"this login may not do that, use the one that migrates: {error}") from error
    except asyncpg.UndefinedTableError as error:
        raise Advice("this database is not at the present schema: run macao migrate first.") from error
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Advice(f"a database cannot be reached: {error}") from error
    return 0


async def _done(sites: "Sites", args: argparse.Namespace) -> str:
    from services.runtime.logs.adding import add_log, let_open, where_is
    from services.runtime.logs.mending import mend
    from services.runtime.logs.moving import Mover

    match args.doing:
        case "add":
            if args.if_missing and (server := await where_is(sites, args.name)):
                return f"{args.name} is there already, on {server}"
            await add_log(sites, args.name, args.server, args.partitions)
            return f"{args.name} is there, on {args.server}; services begin matches in it within a moment"
        case "open" | "close":
            await let_open(sites, args.name, opens=args.doing == "open")
            return f"new matches begin in {args.name}" + ("" if args.doing == "open" else " no more")
        case "move":
            return await _moved(sites, args.name, args.server, args.partitions)
        case "unfence":
            await Mover(sites, args.name).unfence()
            return f"{args.name} is written to again, where it is"
        case "mend":
            return await mend(sites, args.name)
        case _:
            return await _listed(sites)


async def _moved(sites: "Sites", name: str, server: str, partitions: int | None) -> str:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from services.runtime.logs.moving import Mover

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("copying"), BarColumn(), MofNCompleteColumn(), TextColumn("events"),
        console=console, disable=not console.is_terminal, transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("events", total=None)
        mover = Mover(sites, name, lambda at, end: bar.update(task, completed=at, total=end))
        moved = await mover.move(server, partitions)
    return (
        f"{name} lives on {server}: {moved.events} events. It could not be written to for "
        f"{moved.paused_seconds:.2f} s, in which the last {moved.within_pause} were copied.\n"
        "Its old copy is fenced; when you are content, drop its schemas there (docs/several-logs.md)."
    )


async def _listed(sites: "Sites") -> str:
    from services.runtime.log.event_log import schema_of
    from services.runtime.log.partitions import ONE_TABLE, partitions_of
    from services.runtime.logs.adding import LogsError, listed
    from services.runtime.logs.order import taken
    from services.runtime.logs.servers import MAIN

    main = await sites.connect(MAIN)
    try:
        logs = await listed(main)
        read = {one.log: one.position for one in await taken(main)}
    finally:
        await main.close()
    lines = [
        f"{'log':<12} {'server':<12} {'new matches':<12} {'events':>12} {'not read yet':>12} {'partitions':>10}"
    ]
    for one in logs:
        try:
            connection = await sites.connect(one.server)
        except LogsError as error:
            lines.append(f"{one.name:<12} {one.server:<12} {error}")
            continue
        try:
            end: int = await connection.fetchval(
                f"SELECT coalesce(max(position), 0) FROM {schema_of(one.name)}.events"  # noqa: S608 - our name
            )
            partitions = await partitions_of(connection, schema_of(one.name))
        finally:
            await connection.close()
        behind = str(end - read[one.name]) if len(logs) > 1 else "-"
        opens = "yes" if one.opens else "no"
        cut = "-" if partitions == ONE_TABLE else str(partitions)
        lines.append(f"{one.name:<12} {one.server:<12} {opens:<12} {end:>12} {behind:>12} {cut:>10}")
    return "\n".join(lines)
