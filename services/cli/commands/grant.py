"""``macao grant``: let a player audit or operate, or take that back."""

import argparse
import asyncio
from typing import TYPE_CHECKING, Any, Final

from services.cli.advice import Advice

if TYPE_CHECKING:
    from services.runtime.tokens.grants import Grantable

NAME: Final = "grant"
HELP: Final = "let a player audit or operate, or take that back"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("player", metavar="PLAYER", help="an id (p_…), or the name of an account")
    parser.add_argument(
        "scope", nargs="?", choices=("audit", "operate"), help="left out: say what the player may do"
    )
    parser.add_argument("--withdraw", action="store_true", help="take the scope back")
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the grant down, and say when it holds."""
    import asyncpg

    from services.cli.database import database_of
    from services.runtime.tokens.grants import GrantError

    if args.withdraw and args.scope is None:
        raise Advice("say which scope is to be withdrawn: audit or operate")
    try:
        print(asyncio.run(_told(database_of(args.database), args.player, args.scope, withdraw=args.withdraw)))
    except GrantError as error:
        raise Advice(f"{error}.") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise Advice("this login may not grant: use that of the schema's owner, who migrates.") from error
    except asyncpg.UndefinedTableError as error:
        raise Advice("this database has no players yet: run macao migrate first.") from error
    except (OSError, asyncpg.PostgresError) as error:
        raise Advice(f"the database cannot be reached: {error}") from error
    return 0


async def _told(url: str, wanted: str, scope: "Grantable | None", *, withdraw: bool) -> str:
    import asyncpg

    from services.runtime.tokens.grants import player_named
    from services.runtime.tokens.scopes import scopes_of

    connection: Any = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            player = await player_named(connection, wanted)
            said = "" if scope is None else await _changed(connection, player, scope, withdraw=withdraw)
            scopes = ", ".join(sorted(await scopes_of(connection, player)))
    finally:
        await connection.close()
    return f"{player} may {scopes}{said}"


async def _changed(connection: Any, player: str, scope: "Grantable", *, withdraw: bool) -> str:
    from services.runtime.clock import SystemClock, system_entropy
    from services.runtime.tokens import grants

    if withdraw:
        await grants.withdraw(connection, player, scope, SystemClock(), system_entropy)
        return f"; tokens with {scope} end within five seconds"
    await grants.grant(connection, player, scope)
    return f"; {scope} is in the tokens that are issued from now on (POST /v1/tokens/refresh)"
