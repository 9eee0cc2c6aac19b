"""A dump of a log in partitions is restored as it was: shape, triggers, rights. The scripts run as they stand."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from services.cli.doctor.partitions import partitions
from services.contracts.ids import DEFAULT_LOG
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.log.partitions import partitions_of
from services.runtime.logs.adding import cut
from services.runtime.migrate import migrate
from tests.privacy.test_doctor import looked_after
from tests.store.writers import Stream, settings_for, write_rounds
from tests.support.replicas import Owner, Server
from tests.support.up import ROOT, open_directory

pytestmark = pytest.mark.slow

EVERYTHING = "SELECT md5(string_agg(e::text, ',' ORDER BY position)) FROM macao_log.events AS e"
TRIGGERS = """
SELECT tgrelid::regclass::text, tgname::text, tgenabled::text FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'macao_log.%' ORDER BY 1, 2
"""


def run(program: str, *arguments: str, path: Path, database: str) -> str:
    done = subprocess.run(
        [program, *arguments], env={"PATH": f"{path}:/usr/bin:/bin", "DATABASE": database},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def test_a_dump_of_partitions_restores_them_and_what_guards_them() -> None:
    with open_directory() as directory, Server(directory / "server") as server:
        programs = Path(server.program("pg_dump")).parent
        scripts = ROOT / "deploy" / "backup"
        await migrate(server.url)
        await cut(server.url, DEFAULT_LOG, 8)
        streams = [Stream() for _ in range(20)]
        async with Database(settings_for(server.url)) as opened, EventLog(opened) as log:
            await asyncio.gather(*(write_rounds(log.append, stream, 5) for stream in streams))
        dumped = await asyncio.to_thread(
            run, "/bin/sh", str(scripts / "dump.sh"), str(directory), path=programs, database=server.url
        )
        copy = f"{server.url.rpartition('/')[0]}/copy"
        async with Owner(server.url) as owner:
            await owner.execute("CREATE DATABASE copy")
        await asyncio.to_thread(
            run, "/bin/sh", str(scripts / "restore.sh"), dumped, path=programs, database=copy
        )
        assert await migrate(copy) == []
        async with Owner(server.url) as before, Owner(copy) as after:
            assert await partitions_of(after, "macao_log") == 8
            for sql in (EVERYTHING, TRIGGERS):
                assert await after.fetch(sql) == await before.fetch(sql)
        async with looked_after(copy) as patient:
            assert [one.level for one in await partitions(patient)] == ["ok"]
        async with Database(settings_for(copy)) as opened, EventLog(opened) as log:
            end = await log.head_position()
            await write_rounds(log.append, streams[0], 5)
            assert await log.head_position() == end + 9
