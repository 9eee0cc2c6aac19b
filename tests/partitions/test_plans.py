"""What is read often is read by the indexes: a stream in its partition, the order of positions merged from all."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest_asyncio

from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.tree.store import TreeStore
from tests.partitions.conftest import COUNT
from tests.store.writers import settings_for
from tests.support.databases import Databases

Owner = asyncpg.Connection

EVENTS = 20_000
STREAM = "m_00000000000000000000000007"

SORTS = re.compile(r"(^|->  )(Incremental )?Sort\b", re.MULTILINE)

FILL = f"""
INSERT INTO macao_log.events
    (position, version, at_ms, recorded_at, schema, stream, type, actor, command, previous, hash, body)
SELECT n, (n - 1) / 500 + 1, 0, now(), 1, 'm_' || lpad(((n - 1) % 500)::text, 26, '0'), 'rolled', 'p_x', 'c_' || n,
    sha256(n::text::bytea), sha256((n + 1)::text::bytea), convert_to(repeat('y', 150), 'UTF8')
FROM generate_series(1, {EVENTS}) AS n
"""


class Plans:
    """Plans as a process with prepared statements comes to have them: at first for the values, later for any."""

    def __init__(self, owner: Owner[Any], log: EventLog) -> None:
        self.owner = owner
        self.log = log
        self.tree = TreeStore(log.name, log.schema)

    async def of(self, sql: str, *values: str, settings: Sequence[str] = ()) -> list[str]:
        found = []
        await self.owner.execute("RESET ALL")
        for setting in settings:
            await self.owner.execute(f"SET {setting}")
        for mode in ("force_custom_plan", "force_generic_plan"):
            await self.owner.execute(f"SET plan_cache_mode = {mode}")
            await self.owner.execute(f"PREPARE asked AS {sql}")
            given = f"({', '.join(values)})" if values else ""
            rows = await self.owner.fetch(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE asked{given}")
            await self.owner.execute("DEALLOCATE asked")
            found.append("\n".join(row[0] for row in rows))
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plans(databases: Databases) -> AsyncIterator[Plans]:
    async with databases.fresh(COUNT) as url:
        owner = await asyncpg.connect(url)
        try:
            await owner.execute(FILL)
            for number in range(COUNT):  # as the server does it by itself: partition by partition
                await owner.execute(f"VACUUM ANALYZE macao_log.events_{number:03}")
            async with Database(settings_for(url)) as opened:
                yield Plans(owner, EventLog(opened))
        finally:
            await owner.close()


def partitions_in(plan: str) -> set[str]:
    """Return the partitions that are looked into."""
    return set(re.findall(r" on (events_\d{3})\b", plan))


async def test_a_stream_is_read_in_its_partition_alone(plans: Plans):
    lives = await plans.owner.fetchval(
        "SELECT tableoid::regclass::text FROM macao_log.events WHERE stream = $1", STREAM
    )
    log, tree = plans.log, plans.tree
    for sql, *values in (
        (log._stream_sql, f"'{STREAM}'", "0", "1000"),  # all of it
        (log._stream_sql, f"'{STREAM}'", "38", "100"),  # its end
        (tree._place_sql, f"'{STREAM}'", "7"),
    ):
        for plan in await plans.of(sql, *values):
            assert {f"macao_log.{one}" for one in partitions_in(plan)} == {lives}, plan
            assert "Seq Scan" not in plan, plan


async def test_pages_of_the_order_are_merged_from_the_indexes(plans: Plans):
    log, tree = plans.log, plans.tree
    for sql, *values in (
        (log._all_sql, str(EVENTS // 2), "1000"),
        (log._between_sql, "1000", "2000", "5000"),
        (log._slice_sql, "1000", "2000", "4", "1"),
        (log._types_sql, "1000", "2000", "ARRAY['rolled', 'stood']"),
        (log._end_sql, str(EVENTS // 2)),
        (log._end_after_sql, str(EVENTS // 2), "1000"),
        (log._tail_sql,),
        (tree._leaves_sql, str(EVENTS // 2), "256"),
    ):
        for plan in await plans.of(sql, *values):
            assert "Merge Append" in plan, plan
            assert SORTS.search(plan) is None, plan
            assert "Seq Scan" not in plan, plan
            assert "Bitmap" not in plan, plan
            assert len(partitions_in(plan)) == COUNT


async def test_one_event_is_found_by_its_position(plans: Plans):
    for plan in await plans.of(plans.log._hash_sql, "777"):
        assert plan.count("Index Scan") == COUNT
        assert "Seq Scan" not in plan


async def test_what_looks_at_the_numbering_goes_by_the_indexes(plans: Plans):
    """The statement inside the trigger; it is run with every append, with the settings that its function has."""
    body = await plans.owner.fetchval(
        "SELECT prosrc FROM pg_proc WHERE oid = 'macao_log.refuse_misnumbered'::regproc"
    )
    (statement,) = re.findall(r"SELECT count\(\*\) FILTER.*?;", body, re.DOTALL)
    sql = (
        re.sub(r"INTO before, there", "", statement)
        .replace("first", "$1::bigint")
        .replace("written", "$2::bigint")
    )
    given = await plans.owner.fetchval(
        "SELECT proconfig FROM pg_proc WHERE oid = 'macao_log.refuse_misnumbered'::regproc"
    )
    settings = [setting for setting in given if setting.startswith("enable_")]
    assert len(settings) == 2
    for plan in await plans.of(sql, str(EVENTS), "1", settings=settings):
        assert "Merge Append" in plan, plan
        assert plan.count("Index Only Scan") == COUNT, plan
        assert SORTS.search(plan) is None, plan
