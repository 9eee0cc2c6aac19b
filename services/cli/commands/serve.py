"""``macao serve``: one service, or all of them in one process, in the foreground."""

import argparse
from typing import Final

NAME: Final = "serve"
HELP: Final = "serve one service, or all of them, configured by MACAO_… variables"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "service", nargs="?", default="all", help="engine, lobby, projections, web, or all (the default)"
    )
    parser.add_argument("--host", help="the address to listen on (MACAO_HOST)")
    parser.add_argument("--port", type=int, help="the port to listen on (MACAO_PORT)")
    # For `macao up`: it holds the listening socket, and tells its own processes by the mark.
    parser.add_argument("--descriptor", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mark", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from services.cli.serving import serve

    return serve(args.service, args.host, args.port, args.descriptor)
