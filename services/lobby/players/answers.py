"""The first answers to writes that leave no event, kept for a day, so that a retry gets the same.

The log cannot recognise such a retry. The answers hold tokens: they are encrypted. The requests may hold passwords:
what tells two of them apart is encrypted as well, as a bare hash would let a password be guessed from it.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from services.runtime.clock import Clock
from services.runtime.connection import AnyConnection
from services.runtime.database import Database, settle
from services.runtime.rotating import ANSWERS, REQUEST_MARK_BYTES, REQUESTS
from services.runtime.vault import PREFIX_BYTES, Vault
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

KEPT_MS: Final = 24 * 3600 * 1000

T = TypeVar("T", bound=Struct)


class Answers:
    """Keeps answers, and gives them again. A request without an idempotency key (None) has none."""

    def __init__(self, database: Database, vault: Vault, clock: Clock) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock

    async def check_keys(self) -> None:
        """See to it that every key is here that an answer needs which may still be asked for.

        Raises:
            VaultError: one is missing, and what to do.
        """
        heads = await self._database.pool.fetch(
            "SELECT DISTINCT substr(answer, 1, $1) AS head FROM macao_runtime.answers WHERE expires_at_ms > $2",
            PREFIX_BYTES,
            self._clock.now_ms(),
        )
        for row in heads:
            self._vault.check(row["head"], ANSWERS.purpose)

    async def earlier(self, command: Command | None, kind: type[T]) -> T | None:
        """Return the first answer to a command, or None where this is the first time.

        Raises:
            Problem: ``idempotency-key-reused``.
        """
        if command is None:
            return None
        row = await self._database.pool.fetchrow(
            "SELECT request_hash, answer FROM macao_runtime.answers WHERE command = $1 AND expires_at_ms > $2",
            command.id,
            self._clock.now_ms(),
        )
        if row is None:
            return None
        if not self._is_of(row["request_hash"], command):
            raise Problem("idempotency-key-reused")
        await settle(self._database.pool)
        return msgspec.json.decode(
            self._vault.decrypt(ANSWERS.purpose, row["answer"], command.id.encode()), type=kind
        )

    async def keep(
        self, connection: AnyConnection, command: Command | None, answer: Struct, player: str
    ) -> None:
        """Keep an answer to a player, in the transaction that it comes from; what is older than a day is swept out.

        Raises:
            UniqueViolationError: another request with this key was faster; see ``other``.
        """
        now = self._clock.now_ms()
        await connection.execute("DELETE FROM macao_runtime.answers WHERE expires_at_ms < $1", now)
        if command is not None:
            await connection.execute(
                "INSERT INTO macao_runtime.answers (command, request_hash, answer, expires_at_ms, player)"
                " VALUES ($1, $2, $3, $4, $5)",
                command.id,
                self._vault.encrypt(REQUESTS.purpose, command.hash, command.id.encode()),
                self._vault.encrypt(ANSWERS.purpose, msgspec.json.encode(answer), command.id.encode()),
                now + KEPT_MS,
                player,
            )

    async def is_kept(self, connection: AnyConnection, command: Command | None) -> bool:
        """Say whether there is an answer by now."""
        if command is None:
            return False
        kept: int | None = await connection.fetchval(
            "SELECT 1 FROM macao_runtime.answers WHERE command = $1", command.id
        )
        return kept is not None

    async def other(self, command: Command | None, kind: type[T]) -> T:
        """Return the answer of whoever used the same key at the same moment and was faster."""
        answer = await self.earlier(command, kind)
        if answer is None:
            raise Problem("unavailable")
        return answer

    def _is_of(self, kept: bytes, command: Command) -> bool:
        if len(kept) == REQUEST_MARK_BYTES:  # from before it was encrypted
            return kept == self._vault.derive(REQUESTS.purpose, command.hash.hex())
        return self._vault.decrypt(REQUESTS.purpose, kept, command.id.encode()) == command.hash
