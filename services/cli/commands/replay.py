"""``macao replay``: a finished match once more, step by step."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from services.engine.record import Record

NAME: Final = "replay"
HELP: Final = "step through a finished match in the terminal"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "match", metavar="ID|FILE", help="a match, m_…, fetched from the service; or a record file"
    )
    parser.add_argument(
        "--server", metavar="URL", help="the service (MACAO_SERVER, or the running `macao up`)"
    )
    parser.add_argument(
        "--to", metavar="VERSION", type=int, help="print the position after this version, and no other"
    )
    parser.add_argument("--all", action="store_true", help="print every step in words, and the standings")
    parser.add_argument("--seat", type=int, help="see what this seat saw; otherwise everything lies open")


def run(args: argparse.Namespace) -> int:
    """Show the match; in a terminal the keys step through it.

    Raises:
        Advice: there is no such match or file, or it cannot be played back.
    """
    from rich.console import Console

    from services.cli.advice import Advice
    from services.cli.playback import Playback
    from services.engine.replay import Replay, ReplayError
    from services.engine.rules.catalogue import CATALOGUE
    from services.engine.rules.kernel import AUDITOR

    console = Console(highlight=False, soft_wrap=True)
    record = _record(args.match, args.server)
    try:
        replay = Replay(record.events, CATALOGUE)
    except ReplayError as error:
        raise Advice(
            f"{args.match} cannot be played back ({error}): `macao verify` says where it goes wrong."
        ) from error
    if args.seat is not None and not 0 <= args.seat < len(replay.started.seats):
        raise Advice(
            f"There is no seat {args.seat}: the match has the seats 0 to {len(replay.started.seats) - 1}."
        )
    _warn(record, console)
    playback = Playback(replay, AUDITOR if args.seat is None else args.seat, console)
    if args.to is not None:
        try:
            playback.print_at(args.to)
        except LookupError as error:
            raise Advice(f"{error.args[0]}.") from error
    elif args.all or not (sys.stdin.isatty() and sys.stdout.isatty()):
        playback.print_all()
    else:
        playback.step_through()
    return 0


def _record(match: str, server: str | None) -> "Record":
    from services.cli.advice import Advice
    from services.cli.service import download_record, server_of
    from services.contracts.ids import MATCH, is_id
    from services.engine.record import RecordError, read_record

    try:
        if is_id(MATCH, match) and not Path(match).exists():
            return read_record(download_record(server_of(server), match).splitlines(keepends=True))
        with Path(match).open("rb") as lines:
            return read_record(lines)
    except OSError as error:
        raise Advice(
            f"{match} is neither a match's id nor a file that can be read ({error.strerror})."
        ) from error
    except RecordError as error:
        raise Advice(f"{match} is no whole record ({error}): `macao verify` says more.") from error


def _warn(record: "Record", console: "Console") -> None:
    """Say so when the record is not sound: a replay shows what it says, and that need not have happened."""
    from services.engine.audit import audit
    from services.engine.rules.catalogue import CATALOGUE

    verdict = audit(record, CATALOGUE)
    if not verdict.sound:
        where = "" if verdict.first_bad_version is None else f" from version {verdict.first_bad_version} on"
        console.print(f"This record is not sound{where}: `macao verify` says why.\n", style="bold red")
