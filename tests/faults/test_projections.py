"""Whatever happens to workers, connections and doorbells, the tables are those of a fresh rebuild, byte for byte.

Real processes of the service follow a log that is being written, while they are killed (kill -9), stopped and
continued, cut off from PostgreSQL, and while Valkey is flushed, stopped and started; doorbells are lost and doubled,
and tables are built anew in between, by processes that are killed over it. ``MACAO_FAULTS`` says how many of these
things happen (200 by hand), ``MACAO_SEED`` in which order.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, TypeAlias

import asyncpg
import httpx
import pytest
import redis.asyncio

from services.cli.embedded import EmbeddedValkey
from services.projections.catalogue import PROJECTIONS
from services.projections.rebuilds import Reason, Rebuilds
from services.runtime.bus import Bell
from services.runtime.database import Database
from services.runtime.log import Append, Appended, EventLog
from tests.faults.test_many_processes import Process, ready
from tests.projections.stories import invented
from tests.projections.support import contents, settings_of
from tests.support.up import ROOT

pytestmark = pytest.mark.slow

FAULTS: Final = int(os.environ.get("MACAO_FAULTS", "9"))
SEED: Final = int(os.environ.get("MACAO_SEED", "1"))
WORKERS: Final = 2
LEASE_AND_MORE_SECONDS: Final = 17.0
PATIENCE_SECONDS: Final = 120.0

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class Scene:
    """The workers, the log's writer, and the things that go wrong."""

    def __init__(
        self, database: str, owner: Owner, valkey: EmbeddedValkey, workers: list[Process], seed: int
    ) -> None:
        self.database = database
        self.owner = owner
        self.valkey = valkey
        self.workers = workers
        self.chance = random.Random(seed)
        self.happened: list[str] = []
        self.rebuilds = Rebuilds("macao_log")
        self.enough = False

    async def tell(self, rung: EventLog, unrung: EventLog, bell: Bell) -> None:
        """Append made-up histories until told to stop: sometimes nobody rings, sometimes somebody rings for nothing."""
        story = invented(self.chance.randrange(10**6), commands=600 * FAULTS)
        for head, events in story.commands:
            log = unrung if self.chance.random() < 0.2 else rung
            item = Append(
                stream=events[0].stream, kind=events[0].stream[0], expected=head, events=tuple(events),
                command=events[0].command, request_hash=bytes(32), answer=b"{}",
            )  # fmt: skip
            outcome = await log.append(item)
            assert isinstance(outcome, Appended), outcome
            if self.chance.random() < 0.1:
                for _ in range(3):
                    bell.ring(self.chance.choice([0, outcome.position, 10**9]), [("m_none", 1)])
            if self.enough:
                return
            await asyncio.sleep(self.chance.uniform(0, 0.02))

    async def go_wrong(self) -> None:
        """Let one thing happen."""
        faults = [
            self.kill, self.kill, self.pause, self.cut_off, self.flush, self.restart_valkey, self.rebuild,
            self.kill_over_a_rebuild,
        ]  # fmt: skip
        fault = faults[len(self.happened)] if len(self.happened) < len(faults) else self.chance.choice(faults)
        self.happened.append(fault.__name__)
        await fault()

    async def kill(self) -> None:
        worker = self.chance.choice(self.workers)
        worker.kill()
        await asyncio.sleep(self.chance.uniform(0, 0.3))
        worker.start()
        await self.some_progress()

    async def pause(self) -> None:
        worker = self.chance.choice(self.workers)
        worker.process.send_signal(signal.SIGSTOP)
        # For as long as nobody minds, or until another has taken the leads.
        await asyncio.sleep(LEASE_AND_MORE_SECONDS if self.chance.random() < 0.3 else 0.5)
        worker.process.send_signal(signal.SIGCONT)

    async def cut_off(self) -> None:
        for _ in range(5):
            await self.owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'macao subscription%'"
            )
            await asyncio.sleep(self.chance.uniform(0, 0.3))

    async def flush(self) -> None:
        client = redis.asyncio.Redis.from_url(self.valkey.url)
        await client.flushall()
        await client.aclose()

    async def restart_valkey(self) -> None:
        await asyncio.to_thread(self.valkey.stop)
        await asyncio.sleep(self.chance.uniform(0.2, 1.0))
        await asyncio.to_thread(self.valkey.start)

    async def rebuild(self) -> None:
        kind = self.chance.choice(PROJECTIONS)
        await self.rebuilds.request(self.owner, kind.NAME, kind.VERSION, Reason.OPERATOR)

    async def kill_over_a_rebuild(self) -> None:
        await self.rebuild()
        await asyncio.sleep(self.chance.uniform(0.2, 2.0))
        await self.kill()

    async def some_progress(self) -> None:
        """Wait until the leads have been taken again, so that the next thing hits somebody who works."""
        before = await self.lowest()
        await self.until(self.lowest, before + 1)

    async def lowest(self) -> int:
        return await self.owner.fetchval("SELECT coalesce(min(position), 0) FROM macao_log.subscriptions")

    async def built(self) -> None:
        """Wait until no rebuild is asked for or under way."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.rebuilds.open(self.owner):
                await asyncio.sleep(0.05)

    async def until(self, found, wanted: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await found() < wanted:
                await asyncio.sleep(0.05)


@pytest.fixture
async def scene(database: str, tmp_path: Path) -> AsyncIterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="macao-test-", ignore_cleanup_errors=True) as directory:
        os.chmod(directory, 0o755)  # noqa: PTH101 - a path would be blocking here
        owner = await asyncpg.connect(database)
        with EmbeddedValkey(Path(directory)) as valkey:
            environment = {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "MACAO_DATABASE_URL": database,
                "MACAO_REDIS_URL": valkey.url,
                "MACAO_SECRET_KEY": "A" * 43,
                "MACAO_LOG_LEVEL": "warning",
            }
            workers = [
                Process("projections", environment, tmp_path / f"worker{number}.log")
                for number in range(WORKERS)
            ]
            try:
                async with httpx.AsyncClient(timeout=30) as http:
                    for worker in workers:
                        await ready(http, worker)
                yield Scene(database, owner, valkey, workers, SEED)
            finally:
                for worker in workers:
                    worker.process.send_signal(signal.SIGCONT)
                    worker.stop()
                await owner.close()


async def test_tables_are_those_of_a_fresh_rebuild_whatever_happened(scene: Scene) -> None:
    settings = settings_of(scene.database, redis_url=scene.valkey.url)
    async with (
        Database(settings) as opened, Bell(settings) as bell, EventLog(opened, bell) as rung,
        EventLog(opened) as unrung,
    ):  # fmt: skip
        telling = asyncio.create_task(scene.tell(rung, unrung, bell))
        await scene.until(scene.lowest, 1)
        for _ in range(FAULTS):
            await scene.go_wrong()
            assert not telling.done(), "there was nothing left to tell, or it failed"
        scene.enough = True
        await telling
        head = await rung.head_position()
        await scene.until(scene.lowest, head)
        await scene.built()
    await still(scene)
    assert not await scene.owner.fetch("SELECT * FROM macao_log.rebuilds WHERE state <> 'done'")
    assert not await scene.owner.fetch("SELECT * FROM macao_log.dead_letters")
    assert len(scene.happened) == FAULTS


async def still(scene: Scene) -> None:
    """Hold the served tables against a comparison, a rebuild, and a second rebuild, done by the workers."""
    for kind in PROJECTIONS:
        projection = kind()
        served = await contents(scene.owner, projection)
        assert served.count(b"\n") > len(kind.TABLES)
        for purpose in ("compare", "switch", "switch"):
            await scene.rebuilds.request(scene.owner, kind.NAME, kind.VERSION, Reason.OPERATOR, purpose)
            await scene.built()
            ended = await scene.rebuilds.of(scene.owner, kind.NAME)
            assert ended is not None
            assert (ended.state, ended.purpose) == ("done", purpose), ended
            assert ended.differences == (0 if purpose == "compare" else None)
            assert await contents(scene.owner, projection) == served
