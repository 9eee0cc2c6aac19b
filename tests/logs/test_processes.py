"""Services as processes of their own over three logs: the doorbell brings spectators and the board what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from bench.latency.cluster import cluster
from bench.latency.course import Course, percentile
from services.contracts.ids import log_of
from services.runtime.logs.adding import Sites, add_log, let_open
from tests.support.databases import PARTITIONS

pytestmark = pytest.mark.slow

POLL_SECONDS: Final = 2.0


async def test_what_happens_in_any_log_arrives_long_before_anybody_would_have_looked(
    database: str, redis_url: str, tmp_path: Path
) -> None:
    sites = Sites(database, {})
    for name in ("north", "south"):
        await add_log(sites, name, "main", PARTITIONS)
    await let_open(sites, "main", opens=False)
    async with cluster(database, redis_url, POLL_SECONDS, tmp_path / "services.log") as at:
        course = Course(at, tables=6, moves_per_second=20)
        async with course.watched() as seated:
            await course.play(seated, 3)
            await course.arrival()
    logs = {log_of(one["match"]) for one in seated}
    spectators, board = course.spectator_seconds, course.board_seconds
    print(  # noqa: T201 - measured, for who asks by -s
        f"\nmatches in {sorted(logs)}; half of the moves reached their spectators in "
        f"{percentile(spectators, 0.5) * 1000:.0f} ms, half of the rounds the board in "
        f"{percentile(board, 0.5) * 1000:.0f} ms"
    )
    assert logs <= {"north", "south"}
    assert not course.missing
    assert len(spectators) > 20
    assert len(board) > 3
    assert percentile(spectators, 0.5) < POLL_SECONDS / 4
    assert percentile(board, 0.5) < POLL_SECONDS / 2
