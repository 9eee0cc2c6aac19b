"""``macao release``: let parked streams into a projection again, when what was wrong has been mended."""

import argparse
import asyncio
from typing import Final

from services.cli.advice import Advice

NAME: Final = "release"
HELP: Final = "let streams in again that a projection has parked because of an event it could not read"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="the projection")
    parser.add_argument(
        "stream", metavar="STREAM", nargs="?", help="one parked stream; all of them if left out"
    )
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Release, and say what was let in.

    Raises:
        Advice: an event still fails, or there is nothing to release.
    """
    from services.cli.database import database_of

    return asyncio.run(_release(database_of(args.database), args.name, args.stream))


async def _release(url: str, name: str, wanted: str | None) -> int:
    from rich.console import Console

    from services.cli.operating import desk, projections_named, rebuild
    from services.projections.rebuilds import Reason
    from services.projections.releasing import ReleaseError, dead_letters, release

    console = Console()
    (projection,) = projections_named([name])
    async with desk(url) as at:
        letters = await dead_letters(at.connection, at.log.schema, name, projection.VERSION)
        streams = [letter.stream for letter in letters if wanted in {None, letter.stream}]
        if not streams:
            raise Advice(f"{name} has parked nothing{f' of {wanted}' if wanted else ''}.")
        if not projection.STREAMS_ARE_INDEPENDENT:
            console.print(
                f"The order among streams matters to {name}: its tables are built anew, with everything in it."
            )
            ended = await rebuild(at, projection, Reason.RELEASE, "switch", console)
            console.print(f"{name}: {ended.position:,} events, nothing is parked", highlight=False)
            return 0
        for stream in streams:
            try:
                released = await release(at.connection, at.log, projection, stream)
            except ReleaseError as error:
                raise Advice(f"{error}.") from error
            if released is not None:
                console.print(f"{stream}: {released.events} events let in", highlight=False)
    return 0
