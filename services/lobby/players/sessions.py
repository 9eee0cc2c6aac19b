"""Sessions that go on and end, and the named tokens that outlast them."""

from __future__ import annotations

from collections.abc import Sequence

from asyncpg import UniqueViolationError
from msgspec import Struct

from services.contracts.ids import is_id
from services.lobby.players.answers import Answers
from services.runtime.database import Database
from services.runtime.tokens.caller import NAMED, Caller
from services.runtime.tokens.named import NAMED_MAX, NamedToken, ScopeError, TooManyError
from services.runtime.tokens.scopes import EVERYBODY
from services.runtime.tokens.tokens import LIFETIME_SECONDS, Tokens
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem


class Issued(Struct, frozen=True):
    """A ``token`` for the Authorization header, good for ``expires_in`` seconds; a ``refresh_token`` for the next."""

    token: str
    refresh_token: str
    expires_in: int


class NewToken(Struct, frozen=True):
    """A named token. ``token`` is shown this once: whoever loses it makes another."""

    id: str
    name: str
    scopes: list[str]
    created_at_ms: int
    expires_at_ms: int
    token: str


class Sessions:
    """Refreshes and ends sessions; makes, lists and revokes named tokens."""

    def __init__(self, database: Database, tokens: Tokens, answers: Answers) -> None:
        self._database = database
        self._tokens = tokens
        self._answers = answers

    async def refresh(self, refresh_token: str, command: Command | None) -> tuple[Issued, bool]:
        """Exchange a refresh token; returns the tokens, and whether this is a first answer given again.

        Raises:
            Problem: ``refresh-token-invalid``, ``idempotency-key-reused``.
        """
        earlier = await self._answers.earlier(command, Issued)
        if earlier is not None:
            return earlier, True
        async with self._tokens.revocations.transaction() as work:
            # Two that come at once with one key and one token: the second waits here for the first's row, and
            # by then the answer is kept.
            refreshed = await self._tokens.refresh(
                work, refresh_token, lambda: self._answers.is_kept(work.connection, command)
            )
            if refreshed is not None:
                player, token, following = refreshed
                issued = Issued(token, following, LIFETIME_SECONDS)
                await self._answers.keep(work.connection, command, issued, player)
                return issued, False
        earlier = await self._answers.earlier(command, Issued)
        if earlier is not None:
            return earlier, True
        raise Problem("refresh-token-invalid")

    async def end(self, caller: Caller) -> None:
        """End the caller's session, or the one token where there is no session."""
        async with self._tokens.revocations.transaction() as work:
            await self._tokens.end(work, caller)

    async def name_token(
        self, caller: Caller, name: str, scopes: Sequence[str], days: int, command: Command | None
    ) -> tuple[NewToken, bool]:
        """Make a named token; returns it, and whether this is a first answer given again.

        Raises:
            Problem: ``forbidden`` for a scope that the caller does not have, ``too-many-tokens``,
                ``idempotency-key-reused``.
        """
        earlier = await self._answers.earlier(command, NewToken)
        if earlier is not None:
            return earlier, True
        wanted = frozenset(scopes)
        if not wanted <= caller.scopes:
            raise _lacks(wanted - caller.scopes)
        if caller.is_external and wanted - EVERYBODY:
            # What the issuer takes back would live on in our token.
            raise Problem("forbidden", "For an account of the issuer, a named token is good for play only.")
        try:
            async with self._database.pool.acquire() as connection, connection.transaction():
                row = await self._tokens.named.add(connection, caller.player, name, wanted, days)
                token = self._tokens.named_token(caller.player, row)
                made = NewToken(row.id, name, row.scopes, row.created_at_ms, row.expires_at_ms, token)
                await self._answers.keep(connection, command, made, caller.player)
        except UniqueViolationError:
            return await self._answers.other(command, NewToken), True
        except TooManyError:
            raise Problem("too-many-tokens", params={"max": NAMED_MAX}) from None
        except ScopeError:
            raise _lacks(wanted) from None
        return made, False

    async def tokens_of(self, caller: Caller) -> list[NamedToken]:
        """Return the caller's named tokens, oldest first."""
        async with self._database.pool.acquire() as connection:
            return await self._tokens.named.of(connection, caller.player)

    async def end_token(self, caller: Caller, token_id: str) -> None:
        """Revoke a named token of the caller.

        Raises:
            Problem: ``not-found``.
        """
        async with self._tokens.revocations.transaction() as work:
            if not is_id(NAMED, token_id) or not await self._tokens.named.end(work, caller.player, token_id):
                raise Problem("not-found", "You have no such token.")


def _lacks(scopes: frozenset[str]) -> Problem:
    return Problem(
        "forbidden", f"You do not have the scope {min(scopes)} yourself.", params={"scope": min(scopes)}
    )
