"""From the log into the tables: incremental equals rebuilt, whatever happens to workers and doorbells."""

import asyncio
from random import Random

import asyncpg
import pytest

from services.projections.following import reset
from tests.projections.stories import Story, a, invented
from tests.projections.support import PROJECTIONS, running

NOBODY = "redis://127.0.0.1:9/0"
"""A Redis that is not there."""


async def rebuilt(database) -> bytes:
    """Throw the projections away, build them anew, and return their bytes."""
    connection = await asyncpg.connect(database)
    for projection in PROJECTIONS:
        await reset(connection, projection)
    await connection.close()
    async with running(database) as here:
        assert b"m_" not in b"".join((await here.contents()).splitlines()[:1])
        await here.caught_up()
        return await here.contents()


async def test_incremental_equals_rebuilt(database, redis_url):
    story = invented(11)
    async with running(database, redis_url=redis_url) as here:
        await here.tell(story.commands)
        assert await here.caught_up() >= story.position
        incremental = await here.contents()
    assert incremental.count(b"\n") > 50
    assert await rebuilt(database) == incremental


@pytest.mark.slow
async def test_workers_that_are_cut_off_at_random_moments(database, redis_url):
    story = invented(12, commands=600)
    random = Random(12)
    async with running(database, redis_url=redis_url) as here:

        async def told():
            for at in range(0, len(story.commands), 20):
                await here.tell(story.commands[at : at + 20])
                await asyncio.sleep(0.02)

        telling = asyncio.create_task(told())
        killer = await asyncpg.connect(database)
        cuts = 0
        while not telling.done():
            await asyncio.sleep(random.uniform(0.01, 0.06))
            cuts += await killer.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'macao subscription%'"
            )
        await telling
        await killer.close()
        await here.caught_up()
        survived = await here.contents()
    assert cuts > 3
    assert await rebuilt(database) == survived


async def test_of_several_workers_one_works_and_another_takes_over(database, redis_url):
    story = invented(13)
    half = len(story.commands) // 2
    async with running(database, redis_url=redis_url) as second:
        async with running(database, redis_url=redis_url) as first:
            await first.tell(story.commands[:half])
            await first.caught_up()
        await second.tell(story.commands[half:])
        await second.caught_up()
        together = await second.contents()
    assert await rebuilt(database) == together


@pytest.mark.parametrize("redis", ["", NOBODY], ids=["no Redis", "Redis is down"])
async def test_without_a_doorbell_readers_poll(database, redis):
    # Two processes: what the first one appends reaches the second by looking alone.
    story = invented(14, commands=60)
    async with running(database, redis_url=redis) as worker, running(database, redis_url=redis) as writer:
        await writer.tell(story.commands)
        await worker.caught_up()


async def test_doorbells_that_ring_for_nothing_do_no_harm(database, redis_url):
    story = invented(15, commands=80)
    async with running(database, redis_url=redis_url) as here:
        for at in range(0, len(story.commands), 10):
            await here.tell(story.commands[at : at + 10])
            for position in (0, story.position, 10**9):
                here.platform.bell.ring(position, [("t_none", 1)])
        await here.caught_up()
        rung = await here.contents()
    assert await rebuilt(database) == rung


async def test_what_is_far_behind_catches_up_in_pages(database):
    story = Story()
    for number in range(40):
        story.play(a("m", number), [f"p_{number:026d}", f"p_{number + 1:026d}"], [1, 2])
    async with running(database) as here:
        await here.tell(story.commands)
        await here.caught_up()
        assert len((await here.get("/v1/leaderboards/dice-race")).json()["items"]) == 41
