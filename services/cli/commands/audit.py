"""``macao audit``: the whole log, one match in it, or a kept receipt held against it."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from services.cli.auditing import LogFinding, Tally

NAME: Final = "audit"
HELP: Final = "audit a match in the database, or the whole log; hold a kept receipt against the log of today"
PASSES_ON: Final = False

SOUND, NOT_SOUND, IMPOSSIBLE = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = f"{HELP}. Exit code 0: sound; 1: not sound; 2: it could not be looked at."
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("match", metavar="ID", nargs="?", help="the match, m_…, running or finished")
    what.add_argument("--all", action="store_true", help="the whole log, event by event and match by match")
    what.add_argument(
        "--receipt",
        metavar="FILE",
        help="a record with a receipt, a receipt or a checkpoint, kept from before",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the database (MACAO_DATABASE_URL, or that of the running `macao up`)",
    )
    parser.add_argument(
        "--checkpoints", metavar="DIR",
        help="the checkpoints kept outside it (MACAO_CHECKPOINT_DIRECTORY, or those of the running `macao up`)",
    )  # fmt: skip
    parser.add_argument(
        "--server", "--url", metavar="URL",
        help="with --receipt: the service (MACAO_SERVER, or the running `macao up`)",
    )  # fmt: skip
    parser.add_argument(
        "--key", metavar="FILE-OR-BASE64",
        help="the service's public keys, known from elsewhere: a saved /.well-known/jwks.json, PEM, or base64url",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="findings and counts as JSON, one a line")


def run(args: argparse.Namespace) -> int:
    """Look, tell what is wrong as it is found, and sum it up."""
    from services.cli.advice import Advice

    try:
        if args.receipt:
            return _receipt(args)
        return asyncio.run(_log(args))
    except Advice as advice:
        print(f"macao: {advice}", file=sys.stderr)
        return IMPOSSIBLE


def _receipt(args: argparse.Namespace) -> int:
    from services.cli.auditing.kept_receipt import contradictions, published_keys, read_kept
    from services.cli.service import server_of

    kept = read_kept(Path(args.receipt))
    server = server_of(args.server)
    keys = _keys(args.key, kept.checkpoint.key_id) if args.key else published_keys(server)
    found = contradictions(kept, server, keys)
    what = f"{kept.match.match} and the" if kept.match else "the"
    if not found:
        print(f"Sound: the log of {server} still holds {what} checkpoint of {kept.checkpoint.size} events.")
        return SOUND
    print(f"Not sound: the log of {server} is not the one that {args.receipt} was given for.")
    for text in found:
        print(f"- {text}")
    return NOT_SOUND


def _keys(given: str, key_id: str) -> "Mapping[str, bytes]":
    from services.cli.advice import Advice
    from services.cli.public_keys import UnusableKeyError, read_keys

    try:
        return read_keys(given, key_id)
    except UnusableKeyError as error:
        raise Advice(str(error)) from error


async def _log(args: argparse.Namespace) -> int:
    import os

    import asyncpg
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from services.cli.advice import Advice
    from services.cli.auditing import Report
    from services.cli.auditing.logs import audit_logs, audit_match_anywhere
    from services.engine.rules.catalogue import CATALOGUE
    from services.runtime.database import take_role
    from services.runtime.logs.adding import LogsError, Sites
    from services.runtime.logs.servers import parse_log_servers
    from services.runtime.settings import SettingsError

    url, outside = places(args)
    try:
        sites = Sites(url, parse_log_servers(os.environ.get("MACAO_LOG_SERVERS", "")))
    except SettingsError as error:
        raise Advice(f"{error}.") from error
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("auditing"), BarColumn(), MofNCompleteColumn(), TextColumn("events"), TimeRemainingColumn(),
        console=console, disable=not (args.all and console.is_terminal), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("events", total=None)
        report = Report(
            lambda finding: _tell(finding, as_json=args.json), lambda more: bar.advance(task, more)
        )
        try:
            connection = await asyncpg.connect(url)
            try:
                await take_role(connection)
                if args.all:
                    keys = _keys(args.key, "") if args.key else None
                    await audit_logs(
                        connection, sites, CATALOGUE, report, outside=outside, keys=keys,
                        total=lambda count: bar.update(task, total=count),
                    )  # fmt: skip
                elif not await audit_match_anywhere(connection, sites, CATALOGUE, args.match, report):
                    raise Advice(f"there is no match {args.match} in this database")
            finally:
                await connection.close()
        except LogsError as error:
            raise Advice(f"{error}.") from error
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise Advice(f"the database cannot be read: {error}") from error
    tally = report.tally
    if args.json:
        import msgspec

        print(msgspec.json.encode(tally).decode())
    else:
        print(_summary(tally, outside) if args.all else _match_summary(args.match, tally))
    return NOT_SOUND if tally.findings else SOUND


def places(args: argparse.Namespace) -> tuple[str, Path | None]:
    """Return the database's URL, and where its checkpoints are kept outside of it.

    Raises:
        Advice: nothing says which database.
    """
    import os

    from services.cli.advice import Advice
    from services.cli.embedded.home import Home
    from services.cli.places import checkpoint_directory, default_home

    url = args.database or os.environ.get("MACAO_DATABASE_DIRECT_URL") or os.environ.get("MACAO_DATABASE_URL")
    directory = args.checkpoints or os.environ.get("MACAO_CHECKPOINT_DIRECTORY")
    if url is None:
        home = Home(default_home())
        running = home.running()
        if running is None:
            raise Advice("say which database: --database URL, or MACAO_DATABASE_URL, or start `macao up`")
        url = running.database_url
        if directory is None:
            other = checkpoint_directory(home.directory, url)
            directory = other if other.is_dir() else checkpoint_directory(home.directory, "")
    outside = Path(directory) if directory else None
    if outside is not None and not outside.is_dir():
        raise Advice(f"{outside} is no directory: name that of the checkpoints with --checkpoints DIR")
    return url, outside


def _tell(finding: "LogFinding", *, as_json: bool) -> None:
    if as_json:
        import msgspec

        print(msgspec.json.encode(finding).decode(), flush=True)
    else:
        print(f"- {finding}", flush=True)


def _summary(tally: "Tally", outside: Path | None) -> str:
    head = (
        f"Not sound: {tally.findings} findings."
        if tally.findings
        else "Sound: the log is what was signed, and true."
    )
    kept = f"{tally.outside} kept in {outside}" if outside else "none looked at outside the database"
    losses = "".join(
        f"- An end of the log {loss.log} that was signed is lost, as the service declared: {loss.lost - loss.kept}"
        f" events behind position {loss.kept}. The reason given: {loss.reason}\n"
        for loss in tally.losses
    )
    return (
        f"{head}\n{losses}"
        f"- {tally.events} events in a tree; {tally.checkpoints} checkpoints published, {kept}; "
        f"the newest covers {tally.newest} events.\n"
        f"- {tally.streams} streams chained; {tally.matches} finished matches audited in full: "
        f"{tally.commands} commands decided again, {tally.draws} draws recomputed; {tally.running} matches still run."
    )


def _match_summary(match: str, tally: "Tally") -> str:
    if tally.findings:
        return f"Not sound: {match} goes wrong, as it stands in the database."
    if tally.matches:
        return (
            f"Sound: {match} is whole and true as it stands in the database: {tally.commands} commands decided again,"
            f" {tally.draws} draws recomputed."
        )
    return (
        f"Sound so far: {match} still runs, and its chain is whole. The rest can be audited when it is over."
    )
