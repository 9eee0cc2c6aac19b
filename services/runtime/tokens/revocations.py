"""What is over before its tokens have expired: known to every process within ``POLL_SECONDS``.

Signed tokens are checked without asking anybody; so each process holds in memory the few sessions and tokens
that must not be honoured any more. The doorbell wakes it at once, and it looks by itself every two seconds.

A row may become visible later than its time says, as its transaction takes a while to commit. So a look goes back
further than the last one, and once a minute everything is read anew. While PostgreSQL cannot be reached a process
knows no news; but then it can write nothing, either.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final

from services.runtime.bus import Bell
from services.runtime.clock import Clock
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.tasks import end

BELL: Final = "revocations"
"""Under this name the doorbell rings when something was revoked."""

POLL_SECONDS: Final = 2.0
BACK_SECONDS: Final = 120
"""How far a look goes back: longer than any transaction that revokes."""
RELOAD_SECONDS: Final = 60.0

_logger: Final = logging.getLogger(__name__)


class Transaction:
    """A transaction in which sessions and tokens may be revoked.

    Attributes:
        connection: in the transaction.
        revoked: what was revoked in it so far, and until when that has to be remembered.
    """

    def __init__(self, connection: AnyConnection, clock: Clock) -> None:
        self.connection: Final = connection
        self.revoked: Final[dict[str, int]] = {}
        self._clock = clock

    async def revoke(self, until_ms: Mapping[str, int]) -> None:
        """Revoke, each id until the last token that this is to refuse has expired by itself."""
        await record(self.connection, until_ms, self._clock.now_ms())
        self.revoked.update(until_ms)


async def record(connection: AnyConnection, until_ms: Mapping[str, int], now_ms: int) -> None:
    """Write revocations down; what has expired is swept out by the way."""
    await connection.execute("DELETE FROM macao_runtime.revocations WHERE expires_at_ms < $1", now_ms)
    await connection.executemany(
        "INSERT INTO macao_runtime.revocations AS known (id, expires_at_ms) VALUES ($1, $2)"
        " ON CONFLICT (id) DO UPDATE SET"
        " expires_at_ms = greatest(known.expires_at_ms, excluded.expires_at_ms), revoked_at = clock_timestamp()",
        list(until_ms.items()),
    )


class Revocations:
    """The ids that are revoked, as this process knows them."""

    def __init__(self, database: Database, clock: Clock, bell: Bell) -> None:
        self._database = database
        self._clock = clock
        self._bell = bell
        self._until_ms: dict[str, int] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._reloaded_at = 0.0

    def __contains__(self, revoked_id: str) -> bool:
        return revoked_id in self._until_ms

    async def load(self) -> None:
        """Read everything anew; what has expired is forgotten."""
        rows = await self._database.pool.fetch(
            "SELECT id, expires_at_ms FROM macao_runtime.revocations WHERE expires_at_ms > $1",
            self._clock.now_ms(),
        )
        # Nothing is ever taken back; so what is known and missing among the rows was revoked since, or has expired.
        now = self._clock.now_ms()
        self._until_ms = {one: until_ms for one, until_ms in self._until_ms.items() if until_ms > now}
        self._until_ms.update((row["id"], row["expires_at_ms"]) for row in rows)
        self._reloaded_at = asyncio.get_running_loop().time()
        self._wake(list(self._waiting))

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Give a transaction in which sessions and tokens may be revoked; every process hears of it once it is in."""
        async with self._database.pool.acquire() as connection, connection.transaction():
            work = Transaction(connection, self._clock)
            yield work
        self.announce(work.revoked)

    def announce(self, revoked: Mapping[str, int]) -> None:
        """Honour at once what a committed transaction revoked, and have the other processes look."""
        if revoked:
            self._until_ms.update(revoked)
            self._wake(revoked)
            self._bell.ring(0, [(BELL, 1)])

    async def until_revoked(self, revoked_id: str) -> None:
        """Return as soon as this process knows that the id is revoked."""
        if revoked_id in self._until_ms:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(revoked_id, set()).add(waiter)
        try:
            await waiter
        finally:
            others = self._waiting[revoked_id]
            others.discard(waiter)
            if not others:
                del self._waiting[revoked_id]

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Learn what others revoke, while open."""
        watcher = asyncio.create_task(self._watch(), name="revocations")
        try:
            yield
        finally:
            await end(watcher)

    async def _watch(self) -> None:
        pause_seconds = min(POLL_SECONDS, self._database.settings.poll_seconds)
        with self._bell.listen(BELL) as ear:
            while True:
                await ear.wait(pause_seconds)
                try:
                    await self._look()
                except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                    _logger.warning("the revocations could not be looked at: %r", error)
                    await asyncio.sleep(pause_seconds)

    async def _look(self) -> None:
        if asyncio.get_running_loop().time() - self._reloaded_at >= RELOAD_SECONDS:
            await self.load()
            return
        rows = await self._database.pool.fetch(
            "SELECT id, expires_at_ms FROM macao_runtime.revocations"
            " WHERE revoked_at > clock_timestamp() - make_interval(secs => $1)",
            BACK_SECONDS,
        )
        self._until_ms.update((row["id"], row["expires_at_ms"]) for row in rows)
        self._wake([row["id"] for row in rows])

    def _wake(self, revoked_ids: Iterable[str]) -> None:
        for revoked_id in revoked_ids:
            if revoked_id in self._until_ms:
                for waiter in self._waiting.get(revoked_id, ()):
                    if not waiter.done():
                        waiter.set_result(None)
