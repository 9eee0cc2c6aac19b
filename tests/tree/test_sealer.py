"""The sealer: it follows the log, signs it, survives anything, and never signs what contradicts what it signed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from services.contracts.checkpoint import Checkpoint
from services.contracts.merkle import consistent, included, root_of
from services.runtime.clock import SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.log.tails import LostTails
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree import LogProofs, NotSealedError, Sealer
from services.runtime.tree.outside import OutsideFile
from services.runtime.tree.sealer import SealerGauges, State
from services.runtime.tree.signing import is_signed
from services.runtime.tree.store import TreeStore
from services.runtime.vault import Vault
from tests.http.app import SECRET_KEY
from tests.store.writers import Stream, settings_for
from tests.support.databases import Databases

BODY = b'{"type":"rolled"}'
MANY = 700


class Process:
    """One process that seals: the parts it is made of, over a database and a directory."""

    def __init__(self, url: str, directory: Path, **settings: Any) -> None:
        given = {"checkpoint_seconds": 0, "checkpoint_directory": str(directory), **settings}
        self.database = Database(settings_for(url, **given))
        self.log = EventLog(self.database)
        self.proofs = LogProofs(self.log)
        self.outside = OutsideFile(directory, "main")
        clock = SystemClock()
        keyring = Keyring(self.database, Vault(SECRET_KEY, system_entropy), clock, system_entropy)
        self.keyring = keyring
        self.registry = CollectorRegistry()
        gauges = SealerGauges(self.registry, LostTails(self.registry))
        self.sealer = Sealer(self.log, None, keyring, clock, gauges=gauges)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Process]:
        async with self.database, self.log:
            await self.keyring.open()
            yield self

    @asynccontextmanager
    async def sealing(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.sealer.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def write(self, events: int, stream: Stream | None = None) -> None:
        stream = stream or Stream()
        item = stream.next(*[BODY] * events)
        await self.log.append(item)
        stream.took(item)

    async def sealed(self, size: int) -> Checkpoint:
        """Wait for a checkpoint of this size."""
        for _ in range(500):
            newest = await self.proofs.newest()
            if newest is not None and newest.size >= size:
                return newest
            await asyncio.sleep(0.02)
        raise AssertionError(f"not sealed up to {size}: {self.sealer.status}")

    async def leaves(self) -> list[bytes]:
        store = TreeStore("main", "macao_log")
        return [leaf.hash for leaf in await store.leaves(self.database.pool, 0, 100_000)]


@pytest_asyncio.fixture(loop_scope="session")
async def process(database: str, tmp_path: Path) -> AsyncIterator[Process]:
    async with Process(database, tmp_path).open() as process:
        yield process


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.runtime.tree.sealer.STANDBY_SECONDS", 0.05)


@asynccontextmanager
async def owner_of(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Somebody who may do everything, also what triggers refuse."""
    connection = await asyncpg.connect(url)
    try:
        for table in ("macao_log.events", "macao_tree.checkpoints"):
            await connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        yield connection
        for table in ("macao_log.events", "macao_tree.checkpoints"):
            await connection.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER append_only")
    finally:
        await connection.close()


async def test_proofs_from_the_tiles_are_those_of_the_tree(process: Process):
    async with process.sealing():
        await process.write(MANY)
        first = await process.sealed(MANY)
        await process.write(41)
        newest = await process.sealed(MANY + 41)
    leaves = await process.leaves()
    assert newest.root == root_of(leaves).hex()
    assert first.root == root_of(leaves[: first.size]).hex()
    assert is_signed(first)
    assert is_signed(newest)
    for size in (1, 255, 256, 257, 512, 600, MANY, newest.size):
        root = root_of(leaves[:size])
        for position in {1, size // 2 + 1, max(1, size - 1), size}:
            leaf, proof = await process.proofs.inclusion(position, size)
            assert leaf == leaves[position - 1]
            assert included(leaf, position - 1, size, proof, root)
        proof = await process.proofs.consistency(size, newest.size)
        assert consistent(size, root, newest.size, bytes.fromhex(newest.root), proof)
    with pytest.raises(NotSealedError):
        await process.proofs.inclusion(1, newest.size + 1)


async def test_checkpoints_stand_outside_and_in_the_database(process: Process):
    async with process.sealing():
        for events in (3, 300, 7):
            await process.write(events)
            await process.sealed(sum((3, 300, 7)[: (3, 300, 7).index(events) + 1]))
    published = list(await process.proofs.checkpoints(0, 100))
    assert [checkpoint.size for checkpoint in published] == [3, 303, 310]
    assert list(process.outside.read()) == published


async def test_it_goes_on_where_it_was_and_tiles_can_be_thrown_away(process: Process, database: str):
    async with process.sealing():
        await process.write(MANY)
        await process.sealed(MANY)
    async with owner_of(database) as owner:
        before = await owner.fetch("SELECT * FROM macao_tree.tiles ORDER BY level, number")
        assert len(before) == MANY // 256
        await owner.execute("DELETE FROM macao_tree.tiles")
    assert await process.proofs.receipt("m_none", 1) is None
    again = Process(database, process.outside.path.parent)
    async with again.open():
        async with again.sealing():
            await again.write(5)
            newest = await again.sealed(MANY + 5)
        assert newest.root == root_of(await again.leaves()).hex()
    async with owner_of(database) as owner:
        assert await owner.fetch("SELECT * FROM macao_tree.tiles ORDER BY level, number") == before


async def test_of_two_one_works_and_the_other_takes_over(process: Process, database: str):
    other = Process(database, process.outside.path.parent)
    async with other.open(), process.sealing() as first:
        await process.write(10)
        await process.sealed(10)
        async with other.sealing():
            await process.write(10)
            await process.sealed(20)
            assert (process.sealer.status.state, other.sealer.status.state) == (State.RUNNING, State.STANDBY)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await process.write(10)
            await process.sealed(30)
            assert other.sealer.status.state is State.RUNNING
    sizes = [line.size for line in process.outside.read() if isinstance(line, Checkpoint)]
    assert sizes == [10, 20, 30]


async def test_it_waits_as_long_as_the_settings_say(database: str, tmp_path: Path):
    async with (
        Process(database, tmp_path, checkpoint_seconds=3600, checkpoint_events=50).open() as process,
        process.sealing(),
    ):
        await process.write(1)
        assert (await process.sealed(1)).size == 1, "the first at once"
        await process.write(49)
        await asyncio.sleep(0.5)
        newest = await process.proofs.newest()
        assert newest is not None
        assert newest.size == 1
        await process.write(1)
        assert (await process.sealed(51)).size == 51


async def test_what_a_crash_left_half_written_is_cut_off(process: Process, database: str):
    async with process.sealing():
        await process.write(10)
        await process.sealed(10)
    whole = process.outside.path.read_bytes()
    process.outside.path.write_bytes(whole + whole[:100])
    async with Process(database, process.outside.path.parent).open() as again:
        async with again.sealing():
            await again.write(1)
            await again.sealed(11)
        assert again.outside.path.read_bytes().startswith(whole)
        assert [line.size for line in again.outside.read() if isinstance(line, Checkpoint)] == [10, 11]


async def test_what_was_signed_before_a_crash_is_published_after_it(process: Process, database: str):
    async with process.sealing():
        await process.write(10)
        await process.sealed(10)
    async with owner_of(database) as owner:
        await owner.execute("DELETE FROM macao_tree.checkpoints")
    async with Process(database, process.outside.path.parent).open() as again, again.sealing():
        assert [await again.sealed(10)] == list(again.outside.read())


async def test_a_tail_that_was_lost_before_it_was_signed_leaves_nothing_behind(database: str, tmp_path: Path):
    async with Process(database, tmp_path, checkpoint_seconds=3600).open() as process, process.sealing():
        await process.write(100)
        await process.sealed(100)
        await process.write(400)
        while process.sealer.status.size < 500:
            await asyncio.sleep(0.02)
    async with owner_of(database) as owner:
        await owner.execute("DELETE FROM macao_log.events WHERE position > 200")
    async with Process(database, tmp_path).open() as process, process.sealing():
        await process.write(300)
        assert (await process.sealed(500)).root == root_of(await process.leaves()).hex()
        leaf, proof = await process.proofs.inclusion(250, 500)
        assert included(leaf, 249, 500, proof, root_of(await process.leaves()))


async def test_it_may_be_stopped_at_any_moment(database: str, tmp_path: Path):
    rng, written = random.Random(4), 0
    async with Process(database, tmp_path).open() as writer:
        for _ in range(25):
            events = rng.randint(1, 120)
            await writer.write(events)
            written += events
            async with Process(database, tmp_path).open() as process, process.sealing():
                await asyncio.sleep(rng.random() * 0.1)
        async with writer.sealing():
            await writer.sealed(written)
        leaves = await writer.leaves()
        published = list(await writer.proofs.checkpoints(0, 1000))
        assert [item.root for item in published] == [root_of(leaves[: item.size]).hex() for item in published]
        assert list(writer.outside.read()) == published


class TestContradictions:
    """The log is not what was signed: it stops, says so, and signs nothing any more."""

    @staticmethod
    async def stops(url: str, directory: Path, says: str) -> None:
        before = (directory / "main.checkpoints.ndjson").read_bytes()
        async with Process(url, directory).open() as process:
            async with process.sealing() as task, asyncio.timeout(20):
                await asyncio.wait([task])
            status = process.sealer.status
            assert status.state is State.CONTRADICTION
            assert process.registry.get_sample_value("macao_sealer_contradiction", {"log": "main"}) == 1
            assert says in (status.last_error or ""), status.last_error
        assert (directory / "main.checkpoints.ndjson").read_bytes() == before

    async def test_a_database_that_was_written_from_scratch(
        self, process: Process, databases: Databases, tmp_path: Path
    ):
        async with process.sealing():
            await process.write(300)
            await process.sealed(300)
        async with databases.fresh() as other:
            async with Process(other, tmp_path / "elsewhere").open() as forger, forger.sealing():
                await forger.write(300)
                await forger.sealed(300)
            await self.stops(other, tmp_path, "of the first 300 events one at least is not what it was")
        async with databases.fresh() as empty:
            await self.stops(empty, tmp_path, "a checkpoint of 300 events was signed, and the log has 0")

    async def test_an_event_that_was_changed_with_everything_in_the_database(
        self, process: Process, database: str, tmp_path: Path
    ):
        async with process.sealing():
            await process.write(300)
            await process.sealed(300)
        async with owner_of(database) as owner:
            await owner.execute("UPDATE macao_log.events SET hash = sha256(hash) WHERE position = 17")
            await owner.execute("DELETE FROM macao_tree.tiles")
            await owner.execute("DELETE FROM macao_tree.checkpoints")
        await self.stops(database, tmp_path, "of the first 300 events one at least is not what it was")

    async def test_a_tail_that_was_lost(self, process: Process, database: str, tmp_path: Path):
        async with process.sealing():
            await process.write(300)
            await process.sealed(300)
        async with owner_of(database) as owner:
            await owner.execute("DELETE FROM macao_log.events WHERE position > 290")
        await self.stops(database, tmp_path, "and the log has 290")

    async def test_a_changed_line_outside(self, process: Process, database: str, tmp_path: Path):
        async with process.sealing():
            await process.write(3)
            await process.sealed(3)
        lines = process.outside.path.read_bytes()
        said = msgspec.json.decode(lines)
        process.outside.path.write_bytes(msgspec.json.encode(said | {"at_ms": 1}) + b"\n")
        await self.stops(database, tmp_path, "its signature is not right")
        process.outside.path.write_bytes(lines.replace(b"root", b"boot"))
        await self.stops(database, tmp_path, "was changed: this is no checkpoint")
        process.outside.path.write_bytes(b"x" * 10_000)
        await self.stops(database, tmp_path, "was changed: the line is longer than 4096 bytes")
