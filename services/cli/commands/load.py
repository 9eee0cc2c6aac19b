"""``macao load``: tables of mixed games against a service that runs, with a live display."""

import argparse
import asyncio
from typing import Final

from services.cli.advice import Advice

NAME: Final = "load"
HELP: Final = "put a running service under load: tables of clients that play, with a live display"
PASSES_ON: Final = False

TABLES_MAX: Final = 5_000
SECONDS_MAX: Final = 86_400.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--server", metavar="URL", help="where it answers (MACAO_SERVER, or the running home)"
    )
    parser.add_argument("--tables", type=int, default=20, metavar="N", help="tables that play at a time (20)")
    parser.add_argument(
        "--games", default="", metavar="GAMES", help="with commas between them; all of them if not given"
    )
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S", help="for how long (30)")
    parser.add_argument("--moves", type=int, metavar="N", help="end after so many moves, if that is earlier")
    parser.add_argument(
        "--think", type=float, default=0.0, metavar="S", help="pause before each move, on average (0)"
    )
    parser.add_argument("--no-streams", action="store_true", help="nobody follows the matches")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of everything random (1)")


def run(args: argparse.Namespace) -> int:
    """Play, and return 0 if moves were accepted and nothing broke off.

    Raises:
        Advice: an argument makes no sense.
    """
    from rich.console import Console

    from services.cli.loading.crowd import Wanted, grid, put_under_load
    from services.cli.loading.table import GAMES
    from services.cli.service import server_of

    games = tuple(game for game in args.games.split(",") if game) or tuple(GAMES)
    unknown = [game for game in games if game not in GAMES]
    if unknown:
        raise Advice(f"there is no game {unknown[0]}; --games takes {', '.join(GAMES)}.")
    if not 1 <= args.tables <= TABLES_MAX:
        raise Advice(f"--tables takes 1 to {TABLES_MAX}.")
    if not 0 < args.seconds <= SECONDS_MAX or args.think < 0 or (args.moves is not None and args.moves < 1):
        raise Advice(f"--seconds takes up to {SECONDS_MAX:.0f}, --moves 1 or more, --think 0 or more.")
    wanted = Wanted(
        server_of(args.server), args.tables, games, args.seconds, args.moves, args.think,
        watched=not args.no_streams, seed=args.seed,
    )  # fmt: skip
    console = Console()
    console.print(f"{wanted.tables} tables at {wanted.server}, {', '.join(games)}", highlight=False)
    tally = asyncio.run(put_under_load(wanted, console))
    console.print(grid(tally))
    if not tally.moves.count:
        raise Advice(
            f"{wanted.server} has accepted no move: start it with `macao up`, or name another with --server."
        )
    return 1 if tally.broken else 0
