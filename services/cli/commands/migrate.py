"""``macao migrate``: bring a database to the present schema."""

import argparse
import asyncio
from typing import Final

from services.cli.advice import Advice

NAME: Final = "migrate"
HELP: Final = "bring a database to the present schema"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--database", metavar="URL", help="the database (MACAO_DATABASE_URL)")
    parser.add_argument(
        "--partitions",
        metavar="N",
        type=int,
        help="cut the events of the main log, while there are none, into so many partitions (2, 4, 8 … 256)",
    )


def run(args: argparse.Namespace) -> int:
    """Apply what is missing, in the main database and where other logs live, and say what it was."""
    import os

    import asyncpg

    from services.contracts.ids import DEFAULT_LOG
    from services.runtime.log.partitions import checked
    from services.runtime.logs.adding import LogsError, Sites, cut, migrate_others
    from services.runtime.logs.servers import parse_log_servers
    from services.runtime.migrate import MigrationError, migrate
    from services.runtime.settings import SettingsError

    # Not through a pooler: it holds a lock of its session from the first file to the last.
    url = args.database or os.environ.get("MACAO_DATABASE_DIRECT_URL") or os.environ.get("MACAO_DATABASE_URL")
    if not url:
        raise Advice("say which database: --database URL, or MACAO_DATABASE_URL")
    try:
        if args.partitions is not None:
            checked(args.partitions)
        applied = asyncio.run(migrate(url))
        if args.partitions is not None and asyncio.run(cut(url, DEFAULT_LOG, args.partitions)):
            applied.append(f"log/events in {args.partitions} partitions")
        sites = Sites(url, parse_log_servers(os.environ.get("MACAO_LOG_SERVERS", "")))
        applied += asyncio.run(migrate_others(sites))
    except (MigrationError, LogsError, SettingsError) as error:
        raise Advice(str(error)) from error
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error
    for label in applied:
        print(label)
    print(f"{len(applied)} applied" if applied else "nothing to do: the schema is up to date")
    return 0
