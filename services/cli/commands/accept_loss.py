"""``macao accept-loss``: give up an end of the log that was signed and is lost, for everybody to see."""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    import asyncpg

    from services.contracts.checkpoint import Checkpoint
    from services.runtime.settings import Settings
    from services.runtime.tree.losing import Found

NAME: Final = "accept-loss"
HELP: Final = "give up an end of the log that was signed and is lost, for everybody to see"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--events", type=int, metavar="N",
        help="how many signed events are given up; left out: say how many, and do nothing",
    )  # fmt: skip
    parser.add_argument("--log", default="main", metavar="NAME", help="which of several logs (main)")
    parser.add_argument("--reason", help="what happened, in one line: it is signed and published")
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the database, as its owner (MACAO_DATABASE_URL, or the running macao up)",
    )
    parser.add_argument(
        "--checkpoints",
        metavar="DIR",
        help="where checkpoints are kept outside it (MACAO_CHECKPOINT_DIRECTORY)",
    )


def run(args: argparse.Namespace) -> int:
    """Say what is lost; with ``--events`` and ``--reason``, declare it.

    Raises:
        Advice: nothing is lost, or it cannot be declared, and why.
    """
    import asyncpg

    from services.cli.commands.audit import places
    from services.cli.database import secret_key
    from services.contracts.loss import REASON_CHARS_MAX
    from services.runtime.logs.adding import LogsError
    from services.runtime.settings import Settings, SettingsError
    from services.runtime.tree.losing import LossError
    from services.runtime.vault import VaultError

    if (args.events is None) != (args.reason is None):
        raise Advice(
            "to declare a loss, say both --events N and --reason TEXT; without them it is only looked for"
        )
    if args.reason is not None and not (
        args.reason.isprintable() and 0 < len(args.reason.strip()) <= len(args.reason) <= REASON_CHARS_MAX
    ):
        raise Advice(f"the reason is one line of 1 to {REASON_CHARS_MAX} characters")
    url, outside = places(args)
    settings = Settings(database_url=url, secret_key=secret_key())
    try:
        return asyncio.run(_work(settings, args.log, outside, args.events, args.reason))
    except (LossError, LogsError) as error:
        raise Advice(f"{error}.") from error
    except VaultError as error:
        raise Advice(f"the signing keys cannot be read: {error}") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice(
            "this login may not declare a loss: use that of the schema's owner, who migrates."
        ) from error
    except asyncpg.UndefinedTableError as error:
        raise Advice("this database is not at the present schema: run macao migrate first.") from error
    except (OSError, SettingsError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Advice(f"nothing was declared: {error}") from error


async def _work(
    settings: "Settings", log: str, outside: Path | None, events: int | None, reason: str | None
) -> int:
    from services.runtime.clock import SystemClock, system_entropy
    from services.runtime.database import Database
    from services.runtime.log.event_log import schema_of
    from services.runtime.tokens.keyring import Keyring
    from services.runtime.tree.losing import Losing
    from services.runtime.tree.outside import OutsideFile
    from services.runtime.vault import Vault

    clock = SystemClock()
    owner = await _owner_at(settings, log)
    try:
        file = None if outside is None else OutsideFile(outside, log)
        losing = Losing(owner, log, schema_of(log), file)
        await losing.hold()
        taken = await losing.take_over()
        if taken:
            print(f"{taken} losses that were declared before stand in the database again.")
        found = await losing.look()
        print(_told(found))
        if events is None or reason is None:
            print(f"To give them up: macao accept-loss --log {log} --events {found.events} --reason TEXT")
            return 1
        if events != found.events:
            raise Advice(f"nothing was declared: {found.events} events are lost, and not {events}")
        async with Database(settings) as database:
            keyring = Keyring(database, Vault(settings.secret_key, system_entropy), clock, system_entropy)
            await keyring.open()
            loss = await losing.accept(found, reason, keyring, clock)
    finally:
        await owner.close()
    print(
        f"Declared, signed with {loss.key_id}: the log is sealed behind {loss.kept} events when the engines are started"
        " again. GET /v1/log/losses and macao audit tell of it from now on."
    )
    return 0


async def _owner_at(settings: "Settings", log: str) -> "asyncpg.Connection[Any]":
    """Connect to where a log lives, as its owner."""
    import os

    from services.runtime.logs.adding import Sites, one_listed
    from services.runtime.logs.servers import MAIN, parse_log_servers

    sites = Sites(settings.database_url, parse_log_servers(os.environ.get("MACAO_LOG_SERVERS", "")))
    main = await sites.connect(MAIN)
    try:
        server = (await one_listed(main, log)).server
    except BaseException:
        await main.close()
        raise
    if server == MAIN:
        return main
    await main.close()
    return await sites.connect(server)


def _told(found: "Found") -> str:
    kept = "nothing that was signed" if found.kept is None else f"what was signed up to {_when(found.kept)}"
    return (
        f"The log has {found.end} events. It begins with {kept}.\n"
        f"It contradicts what was signed after that, up to {_when(found.lost)}.\n"
        f"So {found.events} signed events are lost at most: matches that ended there cannot be proved any more by their"
        " receipts."
    )


def _when(checkpoint: "Checkpoint") -> str:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(checkpoint.at_ms / 1000, UTC)
    return f"{checkpoint.size} events ({at:%Y-%m-%d %H:%M:%S} UTC)"
