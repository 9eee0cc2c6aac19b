"""The writer of ratings among others, and killed: every match is applied once, and the account is what it should be."""

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random

import asyncpg
import pytest

from services.contracts.events.catalogue import decode
from services.contracts.events.match import MatchVoided
from services.contracts.events.rating import RatingApplied
from services.projections.leaderboards.writer import RatingsWriter
from services.runtime.database import Database
from services.runtime.log import EventLog
from tests.projections.accounts import should_be, stands
from tests.projections.stories import Story, player
from tests.projections.support import append_to, running, settings_of
from tests.projections.test_accounts import league
from tests.projections.test_following import rebuilt

DYING = Path(__file__).with_name("dying_writer.py")


def season(seed, matches=40):
    """Return two stories, one behind the other: matches, then voids of some of them and more matches."""
    random = Random(seed)
    story = Story()
    people = [player(number) for number in range(1, 9)]
    ended = league(random, story, matches, people)
    first = len(story.commands)
    for match in random.sample(ended, 5):
        story.happen(match, MatchVoided("ruled"), actor="operator")
    league(random, story, matches // 4, people)
    return story.commands[:first], story.commands[first:]


async def whole_log(here):
    position, records = 0, []
    while page := await here.platform.log.read_all(position):
        records += page
        position = page[-1].position
    return records


async def see_that_it_is_right(here):
    """Hold the account in the log and the standings against the matches in the log."""
    records = await whole_log(here)
    applied = [
        decode(record.event.type, record.event.schema, record.event.body)
        for record in records
        if record.event.type == "rating-applied"
    ]
    first = Counter(fact.match for fact in applied if isinstance(fact, RatingApplied) and fact.revision == 0)
    assert set(first.values()) == {1}
    ends = [record.event.stream for record in records if record.event.type == "match-ended"]
    assert set(first) <= set(ends)
    async with here.platform.database.pool.acquire() as connection:
        assert await stands(connection) == should_be(records)


@pytest.fixture
def small_commands(monkeypatch):
    monkeypatch.setattr(RatingsWriter, "EVENTS_MAX", 3)


async def test_two_writers_do_the_work_of_one(database, redis_url, small_commands):
    matches, rest = season(1)
    async with running(database, redis_url=redis_url) as one, running(database, redis_url=redis_url):
        await one.tell(matches)
        await one.caught_up()
        await one.tell(rest)
        await one.caught_up()
        await see_that_it_is_right(one)
        incremental = await one.contents()
    assert await rebuilt(database) == incremental


@pytest.mark.slow
async def test_a_writer_that_is_killed_before_and_after_its_appends(database):
    told = season(2)
    random = Random(2)
    for commands in told:
        async with Database(settings_of(database)) as plain, EventLog(plain) as log:
            await append_to(log, commands)
        for moment in ("before", "after", "after"):
            process = await asyncio.create_subprocess_exec(
                sys.executable, str(DYING), database, str(random.randint(0, 2)), moment
            )
            async with asyncio.timeout(60):
                assert await process.wait() == -signal.SIGKILL
    async with running(database) as here:
        await here.caught_up()
        await see_that_it_is_right(here)
        survived = await here.contents()
    assert await rebuilt(database) == survived


@pytest.mark.slow
async def test_a_writer_whose_connections_are_cut(database, redis_url, small_commands):
    matches, rest = season(3, matches=80)
    random = Random(3)
    async with running(database, redis_url=redis_url) as here:
        telling = asyncio.create_task(here.tell(matches))
        killer = await asyncpg.connect(database)
        cuts = 0
        while not telling.done() or cuts < 5:
            await asyncio.sleep(random.uniform(0.2, 0.4))
            cuts += await killer.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name "
                "IN ('macao', 'macao subscription leaderboards')"
            )
        await killer.close()
        await telling
        await here.tell(rest)
        await here.caught_up()
        await see_that_it_is_right(here)
        survived = await here.contents()
    assert await rebuilt(database) == survived
