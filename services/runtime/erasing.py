"""Erasing a player: everything that says who somebody is goes, and the log stays as it is.

The log knows players by ids, which say nothing once the row that gave them a name is gone. So chains, records, ratings
and rankings are untouched, and tables that are built anew from the log show the neutral name by themselves.

A service that keeps what people wrote has a function ``forget_player(player, name)`` in its schema of the database,
which erases it and says how many texts that were; all of them are called, in the same transaction.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from services.runtime.clock import Clock
from services.runtime.connection import AnyConnection
from services.runtime.names import canonical
from services.runtime.tokens.refreshing import ACCESS_SECONDS, lock_sessions
from services.runtime.tokens.revocations import Transaction

ERASED_NAME: Final = "Erased player"
"""What an erased player is called everywhere; nobody else can choose it."""

REFUSED_MS: Final = 400 * 86_400_000
"""How long the id itself is refused: longer than any token lasts that could name it."""

_HOOKS: Final = (
    "SELECT n.nspname AS schema FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace"
    " WHERE p.proname = 'forget_player' AND n.nspname LIKE 'macao\\_%'"
    " AND p.proowner = (SELECT nspowner FROM pg_namespace WHERE nspname = 'macao_runtime')"
    " AND pg_get_function_identity_arguments(p.oid) = 'i_player text, i_name text' ORDER BY 1"
)


class Findings(Struct, frozen=True):
    """What there is of a player.

    Attributes:
        kind: ``guest``, ``account``, ``bot`` or ``erased``.
        sessions: sessions that can still be refreshed.
        tokens: named tokens.
        identities: subjects of an external issuer.
    """

    player: str
    name: str
    kind: str
    sessions: int
    tokens: int
    identities: int


class Erasure(Struct, frozen=True):
    """What was erased besides the name; ``texts`` are complaints, and what others wrote with the name in it."""

    player: str
    sessions: int
    tokens: int
    texts: int


async def find(connection: AnyConnection, wanted: str) -> Findings | None:
    """Return what there is of a player, given by id or by an account's name; None if there is no such player."""
    row: Any = await connection.fetchrow(
        "SELECT id, name, kind,"
        " (SELECT count(DISTINCT session) FROM macao_runtime.refresh_tokens WHERE player = p.id) AS sessions,"
        " (SELECT count(*) FROM macao_runtime.named_tokens WHERE player = p.id) AS tokens,"
        " (SELECT count(*) FROM macao_runtime.external_identities WHERE player = p.id) AS identities"
        " FROM macao_runtime.players AS p WHERE id = $1 OR account_name = $2",
        wanted,
        canonical(wanted),
    )
    return None if row is None else Findings(*row)


async def erase(work: Transaction, player: str, clock: Clock) -> Erasure | None:
    """Erase a player inside a transaction; None where there is no such player, or it is one already, or a bot.

    Sessions and named tokens are revoked, and the id with them: whatever token names it is refused. Whoever comes back
    by an external issuer is somebody new.
    """
    connection = work.connection
    # Nobody signs in, refreshes or makes a token meanwhile.
    await lock_sessions(connection, player, shared=False)
    name: str | None = await connection.fetchval(
        "SELECT name FROM macao_runtime.players WHERE id = $1 AND kind IN ('guest', 'account') FOR UPDATE",
        player,
    )
    if name is None:
        return None
    texts = 0
    for hook in await connection.fetch(_HOOKS):
        texts += await connection.fetchval(f"SELECT {hook['schema']}.forget_player($1, $2)", player, name)
    sessions = await connection.fetch(
        "WITH ended AS (DELETE FROM macao_runtime.refresh_tokens WHERE player = $1 RETURNING session)"
        " SELECT DISTINCT session FROM ended",
        player,
    )
    named = await connection.fetch(
        "SELECT id, expires_at_ms FROM macao_runtime.named_tokens WHERE player = $1", player
    )
    await connection.execute("DELETE FROM macao_runtime.answers WHERE player = $1", player)
    # Credential, named tokens, external identities and grants hang on this row, and go with it.
    await connection.execute("DELETE FROM macao_runtime.players WHERE id = $1", player)
    await connection.execute(
        "INSERT INTO macao_runtime.players (id, name, kind) VALUES ($1, $2, 'erased')", player, ERASED_NAME
    )
    now = clock.now_ms()
    await work.revoke(
        {
            player: now + REFUSED_MS,
            **{row["session"]: now + ACCESS_SECONDS * 1000 for row in sessions},
            **{row["id"]: row["expires_at_ms"] for row in named},
        }
    )
    return Erasure(player, len(sessions), len(named), texts)
