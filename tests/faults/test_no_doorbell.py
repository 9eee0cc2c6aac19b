"""With Redis stopped in the middle, spectators and the board go on to be told, within the polling interval."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final

import pytest

from bench.latency.cluster import cluster
from bench.latency.course import Course
from services.cli.embedded import EmbeddedValkey

pytestmark = pytest.mark.slow

POLL_SECONDS: Final = 1.0
SLACK_SECONDS: Final = 2.0
"""For the reading and sending itself, on a machine that has other things to do."""


async def test_everything_arrives_within_the_polling_interval(database: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="macao-test-", ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        place.chmod(0o755)  # noqa: ASYNC240 - nothing runs yet
        with EmbeddedValkey(place) as valkey:
            async with cluster(database, valkey.url, POLL_SECONDS, tmp_path / "services.log") as at:
                course = Course(at, tables=4, moves_per_second=20)
                async with course.watched() as seated:
                    await course.play(seated, 2)
                    await course.arrival()
                    rung = len(course.spectator_seconds)
                    await asyncio.to_thread(valkey.stop)
                    await course.play(seated, 4)
                    await course.arrival()
                    await asyncio.sleep(POLL_SECONDS + SLACK_SECONDS)
    assert not course.missing
    without = course.spectator_seconds[rung:]
    assert len(without) > 20
    assert max(without) < POLL_SECONDS + SLACK_SECONDS, max(without)
    # By looking alone it takes some time: this did not come over a doorbell that is still there.
    assert max(without) > 0.1
    assert course.board_seconds
    # The board looks at the log, and is looked at by its readers: one interval each at most.
    assert max(course.board_seconds) < 2 * POLL_SECONDS + SLACK_SECONDS, max(course.board_seconds)
