"""A log moves to another database while it is written to: nothing acknowledged is lost, and nothing comes twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from services.runtime.clock import SystemClock, system_entropy
from services.runtime.log import Append, Appended, EventLog, LogUnavailableError, codec
from services.runtime.logs import moving
from services.runtime.logs.adding import LOCK, LogsError, Sites, add_log, sources_of
from services.runtime.logs.moving import Moved, Mover
from services.runtime.migrate import installed_sources
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree import LogProofs, Sealer
from services.runtime.vault import Vault
from tests.http.app import SECRET_KEY
from tests.logs.conftest import spread, stream_in, write
from tests.store.writers import Stream
from tests.support.databases import PARTITIONS, Databases


class Site:
    """A main database with the log ``north`` in it, and an empty database that it can move to."""

    def __init__(self, main: str, other: str) -> None:
        self.main = main
        self.other = other
        self.servers = f"b={other}"
        self.sites = Sites(main, {"b": other})

    async def move(self, server: str = "b") -> Moved:
        return await Mover(self.sites, "north").move(server)

    async def server(self) -> str:
        return await self.ask(self.main, "SELECT server FROM macao_runtime.logs WHERE name = 'north'")

    async def ask(self, url: str, sql: str) -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()


@pytest.fixture
async def site(databases: Databases) -> AsyncIterator[Site]:
    async with databases.fresh() as main, databases.fresh() as other:
        found = Site(main, other)
        await add_log(found.sites, "north", "main", PARTITIONS)
        yield found


class Writer:
    """Writes to one stream as long as it may, and knows what was acknowledged."""

    def __init__(self, log: EventLog) -> None:
        self.stream = stream_in("north")
        self.acknowledged: list[bytes] = []
        self.slowest_seconds = 0.0
        self._log = log

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            item = self.stream.next(b"{}", b"{}")
            begun = time.monotonic()
            outcome = await self._log.append(item)
            self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - begun)
            assert isinstance(outcome, Appended), outcome
            self.stream.took(item)
            self.acknowledged += [event.hash for event in item.events]


async def held(log: EventLog, stream: Stream) -> list[bytes]:
    return [recorded.event.hash for recorded in await log.read_stream(stream.id, 0, 5_000)]


async def in_order(log: EventLog) -> list[bytes]:
    """Wait until everything is in the reading order, and return it."""
    found = []
    async with asyncio.timeout(10):
        while len(found) < await log.head_position():
            found += await log.read_all(len(found), 1_000)
            await asyncio.sleep(0.01)
    return [recorded.event.hash for recorded in found]


async def test_two_processes_write_on_while_a_log_moves(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(moving, "PAGE_MAX", 200)
    async with spread(site.main, site.servers) as one, spread(site.main, site.servers) as other:
        stop = asyncio.Event()
        writers = [Writer(log) for log in (one, other) for _ in range(6)]
        main = stream_in("main")
        tasks = [asyncio.create_task(writer.run(stop)) for writer in writers]
        await asyncio.sleep(0.5)
        moved = await site.move()
        await asyncio.sleep(0.3)
        await write(one, main)
        stop.set()
        await asyncio.gather(*tasks)
        assert await site.server() == "b"
        for writer in writers:
            for log in (one, other):
                assert await held(log, writer.stream) == writer.acknowledged
        everything = await in_order(one)
        assert sorted(everything) == sorted(
            [digest for writer in writers for digest in writer.acknowledged] + [main.head.hash]
        )
        assert one.parts[1].database.server == other.parts[1].database.server == "b"
        assert moved.events < len(everything)
        # The pause is that of the move, and the moment until the writers have found the new place.
        assert max(writer.slowest_seconds for writer in writers) < moved.paused_seconds + 2
        there = await site.ask(site.other, "SELECT count(*) FROM macao_log_north.events")
        assert there == len(everything) - 1
    # Whoever opens it now finds it there, and it can go back; the old copy is brought up to date and used again.
    async with spread(site.main, site.servers) as again:
        stream = stream_in("north")
        await write(again, stream)
        back = await site.move("main")
        assert back.events == len(everything)
        await write(again, stream)
        assert await held(again, stream) == (await held(again.parts[1], stream))
        assert len(await held(again, stream)) == 2
        assert await in_order(again) == [*everything, *await held(again, stream)]


async def test_whoever_sleeps_through_the_move_writes_nothing_where_the_log_was(site: Site):
    async with spread(site.main, site.servers, poll_seconds=60) as log:
        stream = stream_in("north")
        await write(log, stream)
        asleep = await asyncpg.connect(site.main)
        await site.move()
        item = stream.next()
        with pytest.raises(asyncpg.CannotConnectNowError, match="has moved"):
            await append_at(asleep, item)
        await write(log, stream)
        assert log.parts[1].database.server == "b"
        await asleep.close()


async def append_at(connection: asyncpg.Connection, item: Append) -> None:
    """Append by a connection, wherever that leads."""
    numbers = ", ".join(f"${number}" for number in range(1, codec.ARGUMENTS + 1))
    await connection.fetch(
        f"SELECT * FROM macao_log_north.append_many({numbers})", *codec.to_arguments([item])
    )


@pytest.mark.parametrize("step", ["_copy", "_fence", "_compare", "_lift"])
async def test_a_move_that_dies_anywhere_loses_nothing_and_is_finished_by_another(
    site: Site, step: str, monkeypatch: pytest.MonkeyPatch
):
    async with spread(site.main, site.servers) as log:
        writer, stop = Writer(log), asyncio.Event()
        task = asyncio.create_task(writer.run(stop))
        await asyncio.sleep(0.1)
        real = getattr(Mover, step)

        async def die_after(self: Mover, *arguments: object) -> None:
            if step != "_lift":
                await real(self, *arguments)
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(Mover, step, die_after)
            with pytest.raises(ZeroDivisionError):
                await site.move()
        await asyncio.sleep(0.1)
        if step == "_lift":  # it has moved, and is fenced there
            assert await site.server() == "b"
            with pytest.raises(LogsError, match="lives on b already"):
                await site.move()
            await Mover(site.sites, "north").unfence()
        else:
            assert await site.server() == "main"
            await site.move()
        await asyncio.sleep(0.1)
        stop.set()
        await task
        assert await site.server() == "b"
        assert await held(log, writer.stream) == writer.acknowledged
        assert await in_order(log) == writer.acknowledged


async def test_a_move_that_failed_for_good_is_taken_back(site: Site, monkeypatch: pytest.MonkeyPatch):
    async with spread(site.main, site.servers) as log:
        stream = stream_in("north")
        await write(log, stream)

        async def differ(*_: object) -> None:
            raise LogsError("the copy does not end as the log does")

        with monkeypatch.context() as patch:
            patch.setattr(Mover, "_compare", differ)
            with pytest.raises(LogsError):
                await site.move()
        log.parts[1]._coalescer._patience_seconds = 0.3
        with pytest.raises(LogUnavailableError):
            await log.append(stream.next())
        await Mover(site.sites, "north").unfence()
        log.parts[1]._coalescer._patience_seconds = 10
        await write(log, stream)
        assert await site.server() == "main"


async def test_what_was_signed_about_a_log_moves_with_it(site: Site):
    async with spread(site.main, site.servers, checkpoint_seconds=0) as log:
        keyring = Keyring(log.database, Vault(SECRET_KEY, system_entropy), SystemClock(), system_entropy)
        await keyring.open()
        sealer = Sealer(log.parts[1], None, keyring, SystemClock())
        async with running(sealer.run()):
            await _signed(site, log)


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _signed(site: Site, log: EventLog) -> None:
    stream = stream_in("north")
    await write(log, stream, *[b"{}"] * 600)
    proofs = LogProofs(log)
    before = await proofs.receipt_soon(stream.id, 600, 10)
    assert before is not None
    assert before.checkpoint.log == "north"
    await site.move()
    assert await proofs.receipt(stream.id, 600) == before
    await write(log, stream)
    after = await proofs.receipt_soon(stream.id, 601, 10)
    assert after is not None
    assert after.checkpoint.size == 601
    assert proofs.of("nowhere") is None
    assert len(await proofs.of("north").consistency(600, 601)) > 0
    copied = await site.ask(site.other, "SELECT count(*) FROM macao_tree_north.tiles")
    assert copied == 2


async def test_a_move_that_makes_no_sense_is_told_why(site: Site, databases: Databases):
    for name, server, told in (
        ("main", "b", "the main log is part of the main database"),
        ("south", "b", "there is no log south; there are main, north"),
        ("north", "main", "lives on main already"),
        ("north", "c", "does not name a server c"),
    ):
        with pytest.raises(LogsError, match=told):
            await Mover(site.sites, name).move(server)
    with pytest.raises(LogsError, match="are the same database"):
        await Mover(Sites(site.main, {"b": site.main}), "north").move("b")
    async with spread(site.main, site.servers) as log:
        await write(log, stream_in("north"))
    await add_log(Sites(site.other, {}), "north", "main", PARTITIONS)
    async with spread(site.other) as elsewhere:
        await write(elsewhere, stream_in("north"))
    with pytest.raises(LogsError, match="holds another macao_log_north"):
        await site.move()


def test_the_lock_that_stops_appends_to_the_main_log_is_the_one_that_they_take():
    texts = [
        script.text
        for source in installed_sources()
        for script in source.scripts
        if script.name in {"append_many", "refuse_misnumbered"}
    ]
    assert len(texts) == 2
    for text in texts:
        assert f"pg_advisory_xact_lock({LOCK}, 'macao_log.events'::regclass" in text


def test_the_sql_of_a_log_names_no_schema_but_its_own():
    for source in sources_of("north"):
        for script in source.scripts:
            code = "\n".join(line.partition("--")[0] for line in script.text.splitlines())
            for word in ("macao_log.", "macao_tree.", "macao_runtime", "macao_engine", "macao_lobby"):
                assert word not in code, f"{script.label} names {word}"
