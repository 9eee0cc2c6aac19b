"""Backup, destroy, restore, by a dump and by a base backup with its WAL: all is there, or what is lost is noticed.

The scripts of ``deploy/backup`` are run as they stand.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from services.cli.embedded.account import service_account
from services.cli.main import main
from services.runtime.migrate import migrate
from tests.failover.test_failover import check, progress, services
from tests.faults.test_kill import Acknowledged, Load
from tests.faults.test_many_processes import Process
from tests.support.databases import migrated
from tests.support.players import Table
from tests.support.replicas import Owner, Server
from tests.support.up import ROOT, open_directory, wait_for
from tests.tree.test_rewritten import against_today

pytestmark = pytest.mark.slow

SCRIPTS = ROOT / "deploy" / "backup"
LOG_TABLES = ("events", "streams", "commands")
TRIGGERS = """
SELECT t.tgrelid::regclass::text, t.tgname::text, t.tgenabled::text FROM pg_trigger AS t
WHERE NOT t.tgisinternal AND (
    t.tgrelid = ANY ($1::text[]::regclass[])
    OR t.tgrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY ($1::text[]::regclass[]))
)
"""
SECRET_KEY = "A" * 43
LOADERS = 2


class Played(msgspec.Struct, frozen=True):
    """What was acknowledged in a while of play, and a record that was kept of it."""

    done: list[Acknowledged]
    record: Path


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as made:
        yield made


@contextmanager
def server(directory: Path, **settings: str) -> Iterator[Server]:
    directory.mkdir()
    with Server(directory, **settings) as running:
        yield running


async def play(processes: list[Process], directory: Path, name: str) -> Played:
    """Have others play, and a match played to its end; keep its record."""
    async with loaded(processes) as loads:
        record = await asyncio.to_thread(finished, processes[0].url, directory / f"{name}.ndjson")
    return Played([one for load in loads for one in load.done], record)


@asynccontextmanager
async def loaded(processes: list[Process]) -> AsyncIterator[list[Load]]:
    """A load of moves on every process."""
    stop = threading.Event()
    loads = [Load(process.url, seed, stop) for seed in range(LOADERS) for process in processes]
    for load in loads:
        load.start()
    try:
        await progress(loads)
        yield loads
    finally:
        stop.set()
        await asyncio.to_thread(lambda: [load.join(60) for load in loads])
    assert [repr(load.error) for load in loads if load.error] == []


def finished(url: str, file: Path) -> Path:
    """Play a match to its end, and keep its record, receipt and all."""
    with httpx.Client(base_url=url, timeout=30) as client:
        table = Table.seat(client, 2, {"chips_to_win": 2})
        table.play(random.Random(str(file)))
        deadline = time.monotonic() + 20
        while b'"receipt":{' not in (record := client.get(f"/v1/matches/{table.match}/record").content):
            assert time.monotonic() < deadline, "the log is not sealed"
    file.write_bytes(record)
    return file


def script(name: str, server: Server, *arguments: str, **environment: str) -> str:
    """Run one of our scripts with the programs that came with the server; return the last line that it printed."""
    programs = Path(server.program("psql")).parent
    ran = subprocess.run(
        ["/bin/sh", str(SCRIPTS / name), *arguments],
        env={"PATH": f"{programs}:/usr/bin:/bin", "DATABASE": server.url, **environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip().rpartition("\n")[2]


async def contradicted(processes: list[Process]) -> None:
    """Wait until operators can see at every process that the log is not the one that was signed, and is shorter."""

    def told() -> bool:
        metrics = [httpx.get(f"{process.url}/metrics", timeout=10).text for process in processes]
        return all(
            re.search(rf'(?m)^{name}{{log="main"}} 1\.0$', one)
            for one in metrics
            for name in ("macao_sealer_contradiction", "macao_log_lost_tail")
        )

    await asyncio.to_thread(wait_for, told)


def rebuilt(url: str) -> bool:
    """Say whether every projection has noticed that the log lost its tail, and has been built anew."""
    items = httpx.get(f"{url}/v1/projections", timeout=10).json()["items"]
    rebuilds = [item["rebuild"] for item in items]
    return all(one and (one["reason"], one["state"]) == ("lost-tail", "done") for one in rebuilds)


async def accept_loss(
    database: str, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> int:
    """Give up what is lost, as an operator does; return how many events that was."""
    monkeypatch.setenv("MACAO_SECRET_KEY", SECRET_KEY)
    arguments = ["accept-loss", "--database", database, "--checkpoints", str(directory / "checkpoints")]
    assert await asyncio.to_thread(main, arguments) == 1
    events = capsys.readouterr().out.partition("--events ")[2].split()[0]
    declared = [*arguments, "--events", events, "--reason", "Restored from a backup."]
    assert await asyncio.to_thread(main, declared) == 0
    return int(events)


async def test_a_dump_restores_everything_and_a_log_older_than_its_readers_is_noticed(
    directory: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(directory / "a") as first:
        await migrated(first.url)
        async with services(first.url, redis_url, directory, count=1) as processes:
            before = await play(processes, directory, "before")
            # While it serves.
            early = await asyncio.to_thread(script, "dump.sh", first, str(directory / "backups"))
            after = await play(processes, directory, "after")
        kept = str(directory / "checkpoints")
        await asyncio.sleep(1.1)  # dumps are named by the second
        whole = await asyncio.to_thread(
            script, "dump.sh", first, str(directory / "backups"), CHECKPOINTS=kept
        )
        assert (Path(whole) / "checkpoints" / "main.checkpoints.ndjson").is_file()
        await asyncio.to_thread(first.kill)
        shutil.rmtree(first.data)
    with server(directory / "b") as second:
        await asyncio.to_thread(script, "restore.sh", second, whole)
        assert await migrate(second.url) == []
        async with services(second.url, redis_url, directory, count=1) as processes:
            again = await play(processes, directory, "again")
            done = [*before.done, *after.done, *again.done]
            await check(second.url, processes[0].url, done, directory / "checkpoints")
            for file in (before.record, after.record, again.record):
                assert await against_today(file, processes[0].url) == []

        # The log alone is brought back from the early dump: its readers have seen more than it holds.
        async with Owner(second.url) as owner:
            triggers = await owner.fetch(TRIGGERS, [f"macao_log.{table}" for table in LOG_TABLES])
            for table, name, _ in triggers:
                await owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
            await owner.execute(f"TRUNCATE {', '.join(f'macao_log.{table}' for table in LOG_TABLES)}")
            await asyncio.to_thread(
                subprocess.run,
                [second.program("pg_restore"), "--data-only", "--schema=macao_log", f"--dbname={second.url}",
                 *(f"--table={name.partition('.')[2]}" for name in sorted({table for table, _, _ in triggers})),
                 f"{early}/macao.dump"],
                check=True,
            )  # fmt: skip
            for table, name, enabled in triggers:
                always = "ALWAYS " if enabled == "A" else ""
                await owner.execute(f"ALTER TABLE {table} ENABLE {always}TRIGGER {name}")
        async with services(second.url, redis_url, directory, count=1) as processes:
            await contradicted(processes)
            # Play goes on, and what follows from the log follows it.
            async with loaded(processes) as loads:
                await asyncio.to_thread(wait_for, lambda: rebuilt(processes[0].url))
        later = [one for load in loads for one in load.done]
        assert await accept_loss(second.url, directory, monkeypatch, capsys) > 0
        async with services(second.url, redis_url, directory, count=1) as processes:
            sealed = await play(processes, directory, "sealed")
            async with Owner(second.url) as owner:
                reasons = await owner.fetch("SELECT DISTINCT reason, state FROM macao_log.rebuilds")
                assert [tuple(row) for row in reasons] == [("lost-tail", "done")]
            done = [*before.done, *later, *sealed.done]
            await check(second.url, processes[0].url, done, directory / "checkpoints")
            for file in (before.record, sealed.record):
                assert await against_today(file, processes[0].url) == []
            assert "as the service has declared" in (await against_today(after.record, processes[0].url))[0]


async def test_a_base_backup_and_its_wal_restore_everything_and_a_lost_end_is_given_up(
    directory: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = directory / "archive"
    archive.mkdir(mode=0o777)
    archive.chmod(0o777)  # the account that runs the server writes here
    into = f"test ! -f {archive}/%f && cp %p {archive}/%f.part && mv {archive}/%f.part {archive}/%f"
    with server(directory / "a", archive_mode="on", archive_command=into) as first:
        await migrated(first.url)
        base = await asyncio.to_thread(script, "base.sh", first, str(directory))
        async with services(first.url, redis_url, directory, count=1) as processes:
            before = await play(processes, directory, "before")
            await archived(first, archive)
            early = {file.name for file in archive.iterdir()}
            after = await play(processes, directory, "after")
        await archived(first, archive)
        await asyncio.to_thread(first.kill)
        shutil.rmtree(first.data)

    with server(directory / "b") as second:
        await restore_base(second, first, Path(base), archive)
        async with services(second.url, redis_url, directory, count=1) as processes:
            await check(second.url, processes[0].url, [*before.done, *after.done], directory / "checkpoints")
            for file in (before.record, after.record):
                assert await against_today(file, processes[0].url) == []

    # Once more, and the newest of the archive did not survive either.
    for file in archive.iterdir():
        if file.name not in early:
            file.unlink()
    with server(directory / "c") as third:
        await restore_base(third, first, Path(base), archive)
        async with services(third.url, redis_url, directory, count=2) as processes:
            await contradicted(processes)
        assert await accept_loss(third.url, directory, monkeypatch, capsys) > 0
        async with services(third.url, redis_url, directory, count=1) as processes:
            again = await play(processes, directory, "again")
            await check(third.url, processes[0].url, [*before.done, *again.done], directory / "checkpoints")
            for file in (before.record, again.record):
                assert await against_today(file, processes[0].url) == []
            assert "as the service has declared" in (await against_today(after.record, processes[0].url))[0]


async def archived(server: Server, archive: Path) -> None:
    """Have everything up to now in the archive."""
    async with Owner(server.url) as owner:
        name = await owner.fetchval("SELECT pg_walfile_name(pg_switch_wal())")
    await asyncio.to_thread(wait_for, (archive / name).exists)


async def restore_base(server: Server, of: Server, base: Path, archive: Path) -> None:
    """Put a base backup in the place of a server's data, and have the server read the archive to its end."""
    await asyncio.to_thread(server.stop)
    shutil.rmtree(server.data)
    shutil.copytree(base, server.data)
    with (server.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {archive}/%f %p'\n")
    (server.data / "recovery.signal").touch()
    account = service_account()
    if account is not None:
        for path in (server.data, *server.data.rglob("*")):
            os.chown(path, account.uid, account.gid)
    server.take_password_of(of)
    await asyncio.to_thread(server.restart)
    async with Owner(server.url) as owner:
        async with asyncio.timeout(60):
            while await owner.fetchval("SELECT pg_is_in_recovery()"):
                await asyncio.sleep(0.05)
