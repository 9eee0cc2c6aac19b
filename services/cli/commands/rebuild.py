"""``macao rebuild``: build projections anew from the log, while the old tables serve."""

import argparse
import asyncio
from typing import TYPE_CHECKING, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from services.projections.rebuilds import Purpose

NAME: Final = "rebuild"
HELP: Final = "build a projection anew from the log, while the old tables serve"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; macao projections lists them")
    parser.add_argument("--all", action="store_true", help="all of them, one after the other")
    parser.add_argument(
        "--compare", action="store_true",
        help="only hold the new tables against the served ones, byte for byte, and drop them; 1 if they differ",
    )  # fmt: skip
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Build, with a bar that shows how far it is.

    Raises:
        Advice: it cannot be done, and why.
    """
    from services.cli.database import database_of
    from services.cli.operating import all_projections

    if bool(args.names) == args.all:
        raise Advice("say which projections are to be built anew, or --all.")
    names = [projection.NAME for projection in all_projections()] if args.all else args.names
    return asyncio.run(_rebuild(database_of(args.database), names, "compare" if args.compare else "switch"))


async def _rebuild(url: str, names: list[str], purpose: "Purpose") -> int:
    from rich.console import Console

    from services.cli.operating import desk, projections_named, rebuild
    from services.projections.rebuilds import Reason

    console = Console()
    projections = projections_named(names)
    differ = False
    async with desk(url) as at:
        for projection in projections:
            ended = await rebuild(at, projection, Reason.OPERATOR, purpose, console)
            said = f"{projection.NAME}: {ended.position:,} events in {ended.seconds or 0:.1f} s"
            if ended.purpose == "compare":
                differ = differ or bool(ended.differences)
                same = "the same, byte for byte, as what is served"
                said += f"; {ended.differences:,} rows differ" if ended.differences else f"; {same}"
            else:
                said += "; the new tables serve"
            console.print(said, highlight=False)
    return 1 if differ else 0
