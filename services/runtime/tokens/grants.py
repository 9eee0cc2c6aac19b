"""Who may do more than play. A service reads this; only ``macao grant``, as the schema's owner, writes it.

A scope that is granted shows with the next refresh of a session. One that is withdrawn is gone within seconds: the
sessions go on under a new id, so that the tokens issued so far are refused and their holders have to refresh; named
tokens with that scope end.
"""

from __future__ import annotations

from typing import Literal

from services.contracts.ids import ENTROPY_BYTES, PLAYER, is_id, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.names import canonical
from services.runtime.tokens.caller import SESSION
from services.runtime.tokens.refreshing import ACCESS_SECONDS, lock_sessions
from services.runtime.tokens.revocations import record

Grantable = Literal["audit", "operate"]


class GrantError(Exception):
    """It cannot be granted; the message says why, in one line."""


async def player_named(connection: AnyConnection, wanted: str) -> str:
    """Return the id of a player, given by id or by an account's name.

    Raises:
        GrantError: there is none, or its scopes are the issuer's business.
    """
    row = await connection.fetchrow(
        "SELECT p.id, e.issuer FROM macao_runtime.players AS p"
        " LEFT JOIN macao_runtime.external_identities AS e ON e.player = p.id"
        " WHERE p.id = $1 OR p.account_name = $2",
        wanted,
        None if is_id(PLAYER, wanted) else canonical(wanted),
    )
    if row is None:
        raise GrantError(f"there is no player {wanted}: give an id (p_…) or the name of an account")
    if row["issuer"] is not None:
        raise GrantError(f"{wanted} signs in at {row['issuer']}, which says what this player may do")
    found: str = row["id"]
    return found


async def grant(connection: AnyConnection, player: str, scope: Grantable) -> bool:
    """Give a scope to a player; say whether it is new to them."""
    done: str = await connection.execute(
        "INSERT INTO macao_runtime.grants (player, scope) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        player,
        scope,
    )
    return done.endswith(" 1")


async def withdraw(
    connection: AnyConnection, player: str, scope: Grantable, clock: Clock, entropy: Entropy
) -> bool:
    """Take a scope from a player, inside the caller's transaction; say whether they had it."""
    await lock_sessions(connection, player, shared=False)
    done: str = await connection.execute(
        "DELETE FROM macao_runtime.grants WHERE player = $1 AND scope = $2", player, scope
    )
    now = clock.now_ms()
    sessions = await connection.fetch(
        "SELECT DISTINCT session FROM macao_runtime.refresh_tokens WHERE player = $1", player
    )
    over = {row["session"]: now + ACCESS_SECONDS * 1000 for row in sessions}
    await connection.executemany(
        "UPDATE macao_runtime.refresh_tokens SET session = $2 WHERE session = $1",
        [(session, make_id(SESSION, now, entropy(ENTROPY_BYTES))) for session in over],
    )
    named = await connection.fetch(
        "DELETE FROM macao_runtime.named_tokens WHERE player = $1 AND $2 = ANY(scopes) RETURNING id, expires_at_ms",
        player,
        scope,
    )
    over.update((row["id"], row["expires_at_ms"]) for row in named)
    await record(connection, over, now)
    return done.endswith(" 1")
