"""``macao archive``: signed records of matches that are over, compressed, in a directory or an S3-compatible store."""

import argparse
import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from services.cli.archiving.checking import Checked
    from services.cli.archiving.keeping import Kept
    from services.cli.archiving.place import Place
    from services.cli.archiving.restoring import Restored

NAME: Final = "archive"
HELP: Final = "write records of ended matches to an archive, check it, or take one out"
PASSES_ON: Final = False

DAYS: Final = 30
DAY_MS: Final = 86_400_000
UNFIT_SHOWN: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="PLACE", help="a directory, or s3://bucket/prefix (AWS_… variables)")
    parser.add_argument(
        "action", nargs="?", choices=("keep", "verify", "get", "restore"), default="keep",
        help="keep: write what has ended (the default). verify: audit everything that is there. get: print one record."
        " restore: write into the log what it does not have",
    )  # fmt: skip
    parser.add_argument(
        "match", nargs="?", metavar="ID", help="the match, m_…: of get, and of restore if it is one"
    )
    parser.add_argument(
        "--older-than", metavar="DAYS", type=float, default=DAYS,
        help=f"of keep: matches whose last event is older ({DAYS}; a match can be disputed for a week)",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, default=1_000_000, help="of keep: so many matches at most")
    parser.add_argument(
        "--key",
        metavar="FILE-OR-BASE64",
        help="of verify and restore: the service's public keys, a saved /.well-known/jwks.json",
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        help="of verify: without the database, which knows what has to be there",
    )
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Keep, verify or get.

    Raises:
        Advice: the archive, the database or a key cannot be used.
    """
    import asyncpg

    from services.cli.archiving.place import Place, PlaceError
    from services.contracts.ids import MATCH, is_id
    from services.runtime.settings import SettingsError

    if args.match is None and args.action == "get":
        raise Advice("say which match: macao archive PLACE get m_…")
    if args.match is not None and args.action in {"keep", "verify"}:
        raise Advice(f"{args.action} takes all matches: leave {args.match} out.")
    if args.match is not None and not is_id(MATCH, args.match):
        raise Advice(
            f"{args.match} is not the id of a match: those look like m_01KB9Y…, 26 characters after the m_."
        )
    if args.older_than < 0 or args.limit < 1:
        raise Advice("--older-than is 0 or more, --limit 1 or more.")
    try:
        place = Place.at(args.place)
        if args.action == "get":
            return _get(place, f"{args.match}")
        if args.action == "restore":
            return _told_restored(asyncio.run(_restore(place, args)))
        if args.action == "verify":
            return _verify(place, args)
        return _told_kept(asyncio.run(_keep(place, args)), place)
    except (PlaceError, SettingsError) as error:
        raise Advice(f"{error}.") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice("this login may not archive: use that of the schema's owner, who migrates.") from error
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
        raise Advice("this database is not up to date: run macao migrate first.") from error
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error


async def _keep(place: "Place", args: argparse.Namespace) -> "Kept":
    import asyncpg

    from services.cli.archiving.keeping import keep
    from services.cli.deployment import deployment
    from services.engine.play.commitments import Commitments
    from services.engine.play.records import Records
    from services.runtime.platform import Platform
    from services.runtime.settings import Settings
    from services.runtime.tree import LogProofs

    environment, _, _ = deployment(args.database)
    settings = Settings.from_environment(environment)
    owner: Any = await asyncpg.connect(settings.database_url)
    try:
        async with Platform(settings) as platform:
            commitments = Commitments(platform.database, platform.vault, platform.clock, platform.entropy)
            proofs = LogProofs(platform.log)
            records = Records(platform.log, commitments, platform.tokens, proofs)
            before_ms = int(time.time() * 1000 - args.older_than * DAY_MS)
            return await keep(owner, platform.log, records, place, before_ms, args.limit, _progress)
    finally:
        await owner.close()


def _told_kept(kept: "Kept", place: "Place") -> int:
    print(
        f"{kept.matches:,} matches written to {place.name}, {kept.bytes:,} bytes of records before compression."
    )
    if kept.unfit:
        shown = ", ".join(kept.unfit[:UNFIT_SHOWN])
        print(
            f"{len(kept.unfit):,} matches were left for another time, as their chain is broken or they have no receipt"
            f" yet: {shown}{' …' if len(kept.unfit) > UNFIT_SHOWN else ''}. macao audit ID says which."
        )
        return 1
    return 0


async def _restore(place: "Place", args: argparse.Namespace) -> "Restored":
    from services.cli.archiving.restoring import restore
    from services.cli.deployment import deployment
    from services.runtime.platform import Platform
    from services.runtime.settings import Settings

    environment, _, _ = deployment(args.database)
    wanted = place.matches() if args.match is None else [args.match]
    async with Platform(Settings.from_environment(environment)) as platform:
        return await restore(platform, place, wanted, _keys(args.key), _progress)


def _told_restored(restored: "Restored") -> int:
    for fault in restored.faults:
        print(fault)
    left = f"; {len(restored.faults):,} were left" if restored.faults else ""
    print(f"{restored.matches:,} matches are in the log again, {restored.there:,} were there before{left}.")
    return 1 if restored.faults else 0


def _keys(given: str | None) -> "Mapping[str, bytes] | None":
    from services.cli.public_keys import UnusableKeyError, read_keys

    try:
        return read_keys(given, "") if given else None
    except UnusableKeyError as error:
        raise Advice(f"{error}.") from error


def _verify(place: "Place", args: argparse.Namespace) -> int:
    from services.cli.archiving.checking import check

    keys = _keys(args.key)
    expected = None if args.offline else asyncio.run(_expected(args.database))
    return _told_checked(check(place, keys, expected, _progress), place)


async def _expected(database: str | None) -> "Mapping[str, bytes]":
    import asyncpg

    from services.cli.database import database_of

    connection: Any = await asyncpg.connect(database_of(database))
    try:
        return {
            row[0]: row[1]
            for row in await connection.fetch("SELECT match, sha256 FROM macao_engine.archived")
        }
    finally:
        await connection.close()


def _told_checked(checked: "Checked", place: "Place") -> int:
    for fault in checked.faults:
        print(f"{fault.match}: {fault.said}")
    what = (
        f"{checked.matches:,} records with {checked.events:,} events, {checked.receipts:,} with their receipt"
    )
    if checked.faults:
        print(f"Not sound: of {what}, in {place.name}, {len(checked.faults):,} are not as they should be.")
        return 1
    print(f"Sound: {what}, in {place.name}.")
    return 0


def _get(place: "Place", match: str) -> int:
    record = place.get(match)
    if record is None:
        raise Advice(f"{match} is not in {place.name}.")
    sys.stdout.buffer.write(record)
    sys.stdout.buffer.flush()
    return 0


def _progress(count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{count:,}", end="", file=sys.stderr, flush=True)
