"""``macao verify``: is a record whole and true? Needs the file, and no service, database or setting."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from services.engine.record import Sheet
    from services.engine.rules.kernel import AnyRules

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
    parser.add_argument(
        "--rules",
        metavar="GAME@VERSION",
        help="also decide the match under this version of its rules, and name the first move that would go otherwise",
    )
    parser.add_argument("--json", action="store_true", help="the whole verdict as JSON")


def run(args: argparse.Namespace) -> int:
    """Audit the file, and say in one sentence what came out; the findings follow."""
    import msgspec

    from services.cli.public_keys import UnusableKeyError, read_keys
    from services.engine.audit import NotComparableError, audit_sheet, compare, describe, describe_comparison
    from services.engine.record import record_of
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
    other = _rules(args.rules) if args.rules else None
    if isinstance(other, str):
        return _unreadable(other)
    verdict = audit_sheet(sheet, CATALOGUE, keys)
    comparison = None
    if other is not None and verdict.sound:
        try:
            comparison = compare(record_of(sheet), other)
        except NotComparableError as error:
            return _unreadable(str(error))
    if args.json:
        whole = msgspec.structs.asdict(verdict) | ({} if other is None else {"comparison": comparison})
        print(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode())
    else:
        print(describe(verdict))
        if comparison is not None:
            print(describe_comparison(comparison))
    return SOUND if verdict.sound else NOT_SOUND


def _read(file: str) -> "Sheet":
    from services.engine.record import read_sheet

    if file == "-":
        return read_sheet(sys.stdin.buffer)
    with Path(file).open("rb") as lines:
        return read_sheet(lines)


def _rules(wanted: str) -> "AnyRules | str":
    """Return the rules that were asked for, or what is wrong with asking for them."""
    from services.engine.rules.catalogue import CATALOGUE

    known = {rules.id: rules for rules in CATALOGUE.every_version()}
    return known.get(wanted, f"there are no rules {wanted} here; there are {', '.join(known)}")


def _unreadable(problem: str) -> int:
    print(f"macao: {problem}", file=sys.stderr)
    return UNREADABLE
