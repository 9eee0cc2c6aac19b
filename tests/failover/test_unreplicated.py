"""What stands on the primary alone is not told to anybody as done, however it came to be visible there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from services.runtime.database import Database
from services.runtime.log import Append, Appended, EventLog, LogUnavailableError, Outcome
from services.runtime.log import writer as writing
from services.runtime.log.coalescer import Coalescer
from services.runtime.tree.outside import OutsideFile
from tests.store.writers import Stream, settings_for
from tests.support.databases import migrated
from tests.support.replicas import Owner, Pair
from tests.support.up import open_directory
from tests.tree.test_sealer import Process

pytestmark = pytest.mark.slow

KEYWORDS = Coalescer.__init__.__kwdefaults__


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def pair() -> AsyncIterator[Pair]:
    with open_directory() as directory, Pair(directory) as pair:
        await migrated(pair.primary.url)
        await asyncio.to_thread(pair.replicate)
        await pair.synchronous()
        yield pair


async def test_nothing_is_told_of_that_the_standby_does_not_have(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "STATEMENT_SECONDS", 0.5)
    monkeypatch.setattr(Coalescer.__init__, "__kwdefaults__", {**KEYWORDS, "patience_seconds": 2.0})
    sealing = Process(pair.url, tmp_path)
    async with Database(settings_for(pair.url)) as database, EventLog(database) as log, sealing.open():
        stream = Stream()
        first = stream.next()
        assert isinstance(await log.append(first), Appended)
        stream.took(first)
        async with sealing.sealing():
            await sealing.sealed(1)
        second = stream.next()
        await asyncio.to_thread(pair.standby.stop)
        with pytest.raises(LogUnavailableError, match="not answered yet"):
            await log.append(second)
        # A primary that crashes and comes back does not wait for the standby with what it finds in its own WAL.
        await asyncio.to_thread(pair.primary.kill)
        await asyncio.to_thread(pair.primary.restart)
        assert await seen(log) == 2
        with pytest.raises(LogUnavailableError):
            await log.append(second)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await log.find_command(second.command)
        async with sealing.sealing():
            await asyncio.sleep(1)
        assert [getattr(line, "size", None) for line in OutsideFile(tmp_path, "main").read()] == [1]
        await asyncio.to_thread(pair.primary.kill)
        await asyncio.to_thread(pair.standby.restart)
        await pair.promote()
        # Nobody was told, so it may be gone; and whoever asks again is served.
        async with Owner(pair.primary.url) as owner:
            assert await owner.fetchval("SELECT max(position) FROM macao_log.events") == 1
        assert isinstance(await until_written(log, second), Appended)
        assert (await log.find_command(second.command)) is not None


async def seen(log: EventLog) -> int:
    """Return the end of the log, once somebody answers again."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await log.head_position()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
                await asyncio.sleep(0.05)


async def until_written(log: EventLog, item: Append) -> Outcome:
    """Repeat an append as a client does."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await log.append(item)
            except LogUnavailableError:
                await asyncio.sleep(0.05)
