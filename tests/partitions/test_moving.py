"""A log in one table becomes one in partitions by moving, while it is written to; and the other way round."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from services.runtime.log.partitions import ONE_TABLE, PartitionError, partitions_of
from services.runtime.logs import moving
from services.runtime.logs.adding import LogsError, add_log
from services.runtime.logs.moving import Mover
from tests.logs.conftest import spread, stream_in, write
from tests.logs.test_moving import Site, Writer, held, in_order
from tests.support.databases import Databases

NORTH = "macao_log_north"


@pytest.fixture
async def site(databases: Databases) -> AsyncIterator[Site]:
    """The log ``north`` is in one table."""
    async with databases.fresh() as main, databases.fresh() as other:
        found = Site(main, other)
        await add_log(found.sites, "north", "main")
        yield found


async def shape(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return await partitions_of(connection, NORTH)
    finally:
        await connection.close()


async def test_a_log_is_cut_where_it_moves_to_while_it_is_written_to(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(moving, "PAGE_MAX", 100)
    async with spread(site.main, site.servers) as one, spread(site.main, site.servers) as other:
        stop = asyncio.Event()
        writers = [Writer(log) for log in (one, other) for _ in range(4)]
        tasks = [asyncio.create_task(writer.run(stop)) for writer in writers]
        await asyncio.sleep(0.5)
        moved = await Mover(site.sites, "north").move("b", 16)
        await asyncio.sleep(0.3)
        stop.set()
        await asyncio.gather(*tasks)
        assert (await shape(site.main), await shape(site.other)) == (ONE_TABLE, 16)
        for writer in writers:
            for log in (one, other):
                assert await held(log, writer.stream) == writer.acknowledged
        everything = await in_order(one)
        assert sorted(everything) == sorted(digest for writer in writers for digest in writer.acknowledged)
        assert 0 < moved.events < len(everything)
        used = "SELECT count(DISTINCT tableoid) FROM macao_log_north.events"
        assert await site.ask(site.other, used) > 1
        # Back to where the old copy lies, in one table: it is brought up to date as it is.
        stream = stream_in("north")
        await write(one, stream)
        await Mover(site.sites, "north").move("main")
        await write(one, stream)
        assert (await shape(site.main), len(await held(other, stream))) == (ONE_TABLE, 2)
        assert await in_order(one) == [*everything, *await held(one, stream)]


async def test_a_log_keeps_its_partitions_when_it_moves_and_can_lose_them(site: Site, databases: Databases):
    async with databases.fresh() as third:
        site.servers += f" c={third}"
        site.sites._urls["c"] = third
        async with spread(site.main, site.servers) as log:
            stream = stream_in("north")
            await write(log, stream, *[b"{}"] * 20)
            await Mover(site.sites, "north").move("b", 4)
            await write(log, stream)
            await Mover(site.sites, "north").move("c")
            await write(log, stream)
            assert await shape(third) == 4
            await site.ask(site.main, "DROP SCHEMA macao_tree_north, macao_log_north CASCADE")
            await site.ask(
                site.main, "DELETE FROM macao_migrations.applied WHERE package IN ('log@north', 'tree@north')"
            )
            await Mover(site.sites, "north").move("main", ONE_TABLE)
            await write(log, stream)
            assert await shape(site.main) == ONE_TABLE
            assert len(await held(log, stream)) == 23


async def test_a_copy_of_another_shape_is_not_gone_on_with(site: Site, monkeypatch: pytest.MonkeyPatch):
    async with spread(site.main, site.servers) as log:
        await write(log, stream_in("north"), b"{}", b"{}")
    for number in (0, 3, 1024):
        with pytest.raises(PartitionError, match="a power of two"):
            await Mover(site.sites, "north").move("b", number)

    async def die(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Mover, "_compare", die)
        with pytest.raises(ZeroDivisionError):
            await Mover(site.sites, "north").move("b", 4)
    for number in (ONE_TABLE, 8):
        with pytest.raises(LogsError, match=r"lies on b in 4 partitions: drop it there.*--partitions 4"):
            await Mover(site.sites, "north").move("b", number)
    await Mover(site.sites, "north").move("b")  # it goes on with what is there
    assert (await site.server(), await shape(site.other)) == ("b", 4)
