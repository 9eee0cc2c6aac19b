"""``macao up``: everything on one machine, in the foreground."""

import argparse
import os
from pathlib import Path
from typing import Final

from services.cli.places import default_home

NAME: Final = "up"
HELP: Final = "start everything on this machine, until Ctrl-C"
PASSES_ON: Final = False

DEFAULT_PORT: Final = 8000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    port = os.environ.get("MACAO_PORT", str(DEFAULT_PORT))
    parser.add_argument(
        "--port", type=_port, default=port, help="the port on 127.0.0.1 (%(default)s, or MACAO_PORT)"
    )
    parser.add_argument(
        "--home", type=Path, default=default_home(), help="where the data stay (%(default)s, or MACAO_HOME)"
    )
    parser.add_argument(
        "--database", metavar="URL", help="a PostgreSQL of yours in place of the embedded one"
    )
    parser.add_argument(
        "--redis", metavar="URL", help="a Redis or Valkey of yours in place of the embedded one"
    )


def run(args: argparse.Namespace) -> int:
    """Start, watch, and at the end stop everything."""
    from rich.console import Console

    from services.cli.one_machine import OneMachine
    from services.cli.report import Report

    return OneMachine(args.home, args.port, args.database, args.redis, Report(Console())).run()


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:  # noqa: PLR2004 - the range of TCP ports
        raise argparse.ArgumentTypeError("a port lies between 1 and 65535")
    return port
