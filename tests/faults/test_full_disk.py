"""A file system that is full for real: tables cannot grow, then the journal cannot be written and PostgreSQL stops.

It takes a small file system of its own, which only root can make; elsewhere the test is skipped, and a trigger that
raises the same error (test_bad_links) has to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from services.cli.embedded import EmbeddedPostgres
from services.runtime.migrate import migrate
from tests.faults.players import Match
from tests.faults.test_bad_links import NORMAL_SECONDS_MAX, OPTIONS, engine_of, seconds_until_normal

pytestmark = pytest.mark.slow

SIZE: Final = "384m"
FULL_SECONDS_MAX: Final = 30.0


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small file system."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can make a small file system")
    with tempfile.TemporaryDirectory(prefix="macao-full-", ignore_cleanup_errors=True) as directory:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", directory],
            capture_output=True,
            text=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip(f"no file system can be made here: {mounted.stderr.strip()}")
        Path(directory).chmod(0o755)  # the account that runs the server has to get in
        try:
            yield Path(directory)
        finally:
            subprocess.run(["umount", directory], check=True)


def fill_up(disk: Path) -> Path:
    """Take all the room there is, and return the file that holds it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    return ballast


async def revived(postgres: EmbeddedPostgres) -> bool:
    """Wait for PostgreSQL to recover; where it has given up, start it, as ``macao up`` does, and say so."""
    async with asyncio.timeout(FULL_SECONDS_MAX):
        while True:
            if not postgres.alive():
                postgres.restart()
                return True
            try:
                await (await asyncpg.connect(postgres.url, timeout=2)).close()
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.1)
            else:
                return False


async def test_a_disk_without_room_loses_nothing_and_is_over_when_there_is_room(disk: Path) -> None:
    with EmbeddedPostgres(disk) as postgres:
        await migrate(postgres.url)
        owner = await asyncpg.connect(postgres.url)
        async with engine_of(postgres.url, "") as engine:
            match, other = [Match(engine, await engine.start(options=OPTIONS)) for _ in range(2)]
            await match.play(10, moves_max=3)
            assert len(match.acknowledged) == 3
            ballast = fill_up(disk)
            playing = asyncio.create_task(match.play(FULL_SECONDS_MAX + 60, moves_max=1_000))
            async with asyncio.timeout(FULL_SECONDS_MAX):
                while not match.answers[503]:
                    await asyncio.sleep(0.1)
            # Nor is there room for another piece of the journal, so the server cannot go on.
            with contextlib.suppress(asyncpg.PostgresError, OSError):
                await owner.execute("SELECT pg_switch_wal()")
                await owner.execute("CREATE TABLE public.more AS SELECT 1")
            await asyncio.sleep(1)
            ballast.unlink()
            stopped = await revived(postgres)
            stopped_at = len(match.acknowledged)
            normal_seconds = await seconds_until_normal(engine, other.match)
            async with asyncio.timeout(NORMAL_SECONDS_MAX):
                while len(match.acknowledged) <= stopped_at:
                    await asyncio.sleep(0.1)
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
            await match.holds()
        owner.terminate()
    print(  # noqa: T201 - for docs/faults.md: pytest -s shows it
        f"PostgreSQL {'stopped' if stopped else 'went on'}, normal after {normal_seconds:.1f} s"
    )
    assert normal_seconds < NORMAL_SECONDS_MAX
    assert set(match.answers) == {200, 503}
