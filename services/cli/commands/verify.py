"""``macao verify``: is a record whole and true? Needs the file, and no service, database or setting."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from services.engine.record import Sheet

NAME: Final = "verify"
HELP: Final = "say whether the record of a match is whole and true, and if not, where it goes wrong"
PASSES_ON: Final = False

SOUND, NOT_SOUND, UNREADABLE = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = f"{HELP}. Exit code 0: sound; 1: not sound; 2: the file or the key cannot be read."
    parser.add_argument("file", help="the record, as `macao export` writes it; - for standard input")
    parser.add_argument(
        "--key",
        metavar="FILE-OR-BASE64",
        help="the service's public key, known from elsewhere: a saved /.well-known/jwks.json, PEM, or base64url",
    )
    parser.add_argument("--json", action="store_true", help="the whole verdict as JSON")


def run(args: argparse.Namespace) -> int:
    """Audit the file, and say in one sentence what came out; the findings follow."""
    import msgspec

    from services.cli.public_keys import UnusableKeyError, read_keys
    from services.engine.audit import audit_sheet, describe
    from services.engine.rules.catalogue import CATALOGUE

    try:
        sheet = _read(args.file)
    except OSError as error:
        return _unreadable(f"{args.file} cannot be read: {error.strerror}")
    if sheet.header is None and not any(entry.event for entry in sheet.entries):
        return _unreadable(f"{args.file} is not the record of a match")
    try:
        keys = read_keys(args.key, sheet.header.key_id if sheet.header else "") if args.key else None
    except UnusableKeyError as error:
        return _unreadable(str(error))
    verdict = audit_sheet(sheet, CATALOGUE, keys)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(verdict), indent=2).decode())
    else:
        print(describe(verdict))
    return SOUND if verdict.sound else NOT_SOUND


def _read(file: str) -> "Sheet":
    from services.engine.record import read_sheet

    if file == "-":
        return read_sheet(sys.stdin.buffer)
    with Path(file).open("rb") as lines:
        return read_sheet(lines)


def _unreadable(problem: str) -> int:
    print(f"macao: {problem}", file=sys.stderr)
    return UNREADABLE
