"""``macao export``: the record of a finished match, from the service into a file."""

import argparse
import sys
from pathlib import Path
from typing import Final

NAME: Final = "export"
HELP: Final = "download the record of a finished match"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("match", metavar="ID", help="the match, m_…")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write it (ID.ndjson); - for standard output"
    )
    parser.add_argument(
        "--server", metavar="URL", help="the service (MACAO_SERVER, or the running `macao up`)"
    )


def run(args: argparse.Namespace) -> int:
    """Download and save.

    Raises:
        Advice: there is no such record, or it cannot be written.
    """
    from services.cli.advice import Advice
    from services.cli.service import download_record, server_of
    from services.contracts.ids import MATCH, is_id

    if not is_id(MATCH, args.match):
        raise Advice(
            f"{args.match} is not the id of a match: those look like m_01KB9Y…, 26 characters after the m_."
        )
    record = download_record(server_of(args.server), args.match)
    if args.output == "-":
        sys.stdout.buffer.write(record)
        return 0
    path = Path(args.output or f"{args.match}.ndjson")
    try:
        path.write_bytes(record)
    except OSError as error:
        raise Advice(
            f"{path} cannot be written ({error.strerror}): name another with --output FILE."
        ) from error
    events = max(0, record.count(b"\n") - 2)
    print(f"{path}: {events} events. Is it true? macao verify {path}")
    return 0
