"""Accounts: a guest that added a name of its own and a password, and comes back with them from anywhere."""

from __future__ import annotations

from typing import Any, Final

from asyncpg import UniqueViolationError

from services.lobby.players.answers import Answers
from services.lobby.players.guests import NewPlayer
from services.lobby.players.passwords import RULES, Passwords, fault_of
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.names import canonical
from services.runtime.players import Player, Players
from services.runtime.tokens.caller import Caller
from services.runtime.tokens.refreshing import lock_sessions
from services.runtime.tokens.tokens import LIFETIME_SECONDS, Tokens
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

_FIND: Final = (
    "SELECT p.id, p.name, c.password_hash, c.changed_at FROM macao_runtime.players AS p"
    " JOIN macao_runtime.credentials AS c ON c.player = p.id"
)


class Accounts:
    """Makes accounts of guests, signs in, and changes passwords."""

    def __init__(
        self, database: Database, players: Players, tokens: Tokens, answers: Answers, passwords: Passwords
    ) -> None:
        self._database = database
        self._players = players
        self._tokens = tokens
        self._answers = answers
        self._passwords = passwords

    async def add_credential(
        self, player_id: str, name: str, password: str, command: Command | None
    ) -> tuple[Player, bool]:
        """Make an account of a guest; the name has been checked. Returns it, and whether it was so before.

        Raises:
            Problem: ``password-invalid``, ``name-taken``, ``already-account``, ``idempotency-key-reused``.
        """
        earlier = await self._answers.earlier(command, Player)
        if earlier is not None:
            return earlier, True
        _check(password, name)
        stored = await self._passwords.hash(password)
        account = Player(player_id, name, "account")
        try:
            async with self._database.pool.acquire() as connection, connection.transaction():
                await self._turn(connection, account, stored)
                await self._answers.keep(connection, command, account, player_id)
        except UniqueViolationError as error:
            if "account_name" in (error.constraint_name or ""):
                raise Problem("name-taken", params={"name": name}) from None
            return await self._answers.other(command, Player), True
        except _IsAccountError:
            # Or this very request, a moment ago, by another connection.
            earlier = await self._answers.earlier(command, Player)
            if earlier is not None:
                return earlier, True
            raise Problem("already-account") from None
        self._players.forget(player_id)
        return account, False

    async def sign_in(self, name: str, password: str, command: Command | None) -> tuple[NewPlayer, bool]:
        """Begin a session of an account.

        A name that nobody has takes as long to refuse as a wrong password, and is refused in the same words.

        Raises:
            Problem: ``credentials-wrong``, ``idempotency-key-reused``.
        """
        earlier = await self._answers.earlier(command, NewPlayer)
        if earlier is not None:
            return earlier, True
        row = await self._database.pool.fetchrow(f"{_FIND} WHERE p.account_name = $1", canonical(name))
        stored: str | None = None if row is None else row["password_hash"]
        if not await self._passwords.matches(stored, password) or row is None or stored is None:
            raise Problem("credentials-wrong")
        outdated = self._passwords.is_outdated(stored)
        renewed = await self._passwords.hash(password) if outdated else stored
        try:
            async with self._database.pool.acquire() as connection, connection.transaction():
                # From here on nobody changes the password; whoever did so since we looked was first.
                await lock_sessions(connection, row["id"], shared=True)
                await self._still(connection, row)
                if outdated:
                    await connection.execute(
                        "UPDATE macao_runtime.credentials SET password_hash = $2 WHERE player = $1", row["id"], renewed
                    )  # fmt: skip
                token, refresh = await self._tokens.sign_in(connection, row["id"])
                player = Player(row["id"], row["name"], "account")
                made = NewPlayer(player, token, refresh, LIFETIME_SECONDS)
                await self._answers.keep(connection, command, made, player.id)
        except UniqueViolationError:
            return await self._answers.other(command, NewPlayer), True
        return made, False

    async def change_password(self, caller: Caller, current: str, password: str, *, end_tokens: bool) -> None:
        """Change the password of the caller's account, and end its other sessions; on request its named tokens, too.

        Raises:
            Problem: ``not-account``, ``credentials-wrong``, ``password-invalid``.
        """
        row: Any = await self._database.pool.fetchrow(f"{_FIND} WHERE p.id = $1", caller.player)
        if row is None:
            raise Problem("not-account")
        if not await self._passwords.matches(row["password_hash"], current):
            raise Problem("credentials-wrong", "The current password is not right.")
        _check(password, row["name"])
        renewed = await self._passwords.hash(password)
        async with self._tokens.revocations.transaction() as work:
            await self._tokens.end_others(work, caller)
            await self._still(work.connection, row)
            await work.connection.execute(
                "UPDATE macao_runtime.credentials SET password_hash = $2, changed_at = clock_timestamp()"
                " WHERE player = $1",
                caller.player,
                renewed,
            )
            if end_tokens:
                await self._tokens.named.end_all(work, caller.player)

    @staticmethod
    async def _turn(connection: AnyConnection, account: Player, stored: str) -> None:
        done: str = await connection.execute(
            "UPDATE macao_runtime.players SET name = $2, account_name = $3, kind = 'account'"
            " WHERE id = $1 AND kind = 'guest'",
            account.id,
            account.name,
            canonical(account.name),
        )
        if not done.endswith(" 1"):
            raise _IsAccountError
        await connection.execute(
            "INSERT INTO macao_runtime.credentials (player, password_hash) VALUES ($1, $2)",
            account.id,
            stored,
        )

    @staticmethod
    async def _still(connection: AnyConnection, seen: Any) -> None:
        """See to it that the password is the one that was compared with."""
        changed_at: Any = await connection.fetchval(
            "SELECT changed_at FROM macao_runtime.credentials WHERE player = $1", seen["id"]
        )
        if changed_at != seen["changed_at"]:
            raise Problem("credentials-wrong")


class _IsAccountError(Exception):
    """The player is no guest (any more)."""


def _check(password: str, name: str) -> None:
    fault = fault_of(password, name)
    if fault is not None:
        raise Problem("password-invalid", RULES[fault], params={"rule": fault})
