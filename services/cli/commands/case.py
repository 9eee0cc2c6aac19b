"""``macao case``: the case file of a dispute, as a referee would write it."""

import argparse
import os
import sys
from typing import Final

NAME: Final = "case"
HELP: Final = "print the case file of a dispute"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dispute", metavar="ID", help="the dispute, d_…")
    parser.add_argument(
        "--server", metavar="URL", help="the service (MACAO_SERVER, or the running `macao up`)"
    )
    parser.add_argument("--json", action="store_true", help="the whole file as JSON")
    parser.add_argument(
        "--plain", action="store_true", help="the report as Markdown, as it is when the output is no terminal"
    )


def run(args: argparse.Namespace) -> int:
    """Fetch and print. While the match runs a token is needed: it is taken from MACAO_TOKEN.

    Raises:
        Advice: there is no such dispute, or no service.
    """
    from services.cli.advice import Advice
    from services.cli.service import download_case, server_of
    from services.contracts.ids import DISPUTE, is_id

    if not is_id(DISPUTE, args.dispute):
        raise Advice(
            f"{args.dispute} is not the id of a dispute: those look like d_01KB9Y…, 26 characters after the d_."
        )
    accept = "application/json" if args.json else "text/markdown"
    case = download_case(server_of(args.server), args.dispute, accept, os.environ.get("MACAO_TOKEN"))
    if args.json or args.plain or not sys.stdout.isatty():
        print(case.rstrip("\n"))
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(case))
    return 0
