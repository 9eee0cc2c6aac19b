"""The primary dies under a load of moves, and its synchronous standby takes over: nothing acknowledged is lost.

``MACAO_FAILOVERS`` says how often (10 by hand): the server that died becomes the next standby. Every third time it does
not die but hangs, its connections open. How long it took until moves were accepted again is printed; a part of it is
the manager's, who has to notice and to promote.
"""

import asyncio
import os
import random
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg
import httpx
import pytest

from services.cli.auditing import LogFinding, Report, audit_log
from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from services.projections.catalogue import PROJECTIONS
from services.projections.rebuilds import Reason, Rebuilds
from tests.faults.test_kill import Acknowledged, Load, check_acknowledged, check_log, check_retries, log_of
from tests.faults.test_many_processes import Process, ready
from tests.support.databases import migrated
from tests.support.pgbouncer import PgBouncer, find_pgbouncer, make_login
from tests.support.replicas import Owner, Pair
from tests.support.up import ROOT, open_directory, wait_for

pytestmark = pytest.mark.slow

FAILOVERS: Final = int(os.environ.get("MACAO_FAILOVERS", "1"))
LOADERS: Final = 4
PATIENCE_SECONDS: Final = 60.0


@asynccontextmanager
async def services(
    url: str, redis_url: str, directory: Path, pooled: dict[str, str] | None = None, count: int = 2
) -> AsyncIterator[list[Process]]:
    """Some processes, each with everything in it."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MACAO_DATABASE_URL": url,
        "MACAO_REDIS_URL": redis_url,
        "MACAO_SECRET_KEY": "A" * 43,
        "MACAO_CHECKPOINT_DIRECTORY": str(directory / "checkpoints"),
        "MACAO_CHECKPOINT_SECONDS": "0.5",
        "MACAO_LOG_LEVEL": "warning",
        **(pooled or {}),
    }
    processes = [Process("all", environment, directory / f"service{number}.log") for number in range(count)]
    try:
        async with httpx.AsyncClient(timeout=30) as http:
            for process in processes:
                await ready(http, process)
        yield processes
    finally:
        for process in processes:
            process.stop()


async def test_nothing_acknowledged_is_lost(redis_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_directory() as directory, Pair(directory) as pair:
        await migrated(pair.primary.url)
        await asyncio.to_thread(pair.replicate)
        await pair.synchronous()
        await play_on(pair, redis_url, directory, {}, capsys)


@pytest.mark.skipif(
    find_pgbouncer() is None, reason="pgbouncer is not installed (Debian: apt install pgbouncer)"
)
async def test_nothing_acknowledged_is_lost_behind_poolers(
    redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_directory() as directory, Pair(directory) as pair, ExitStack() as poolers:
        await migrated(pair.primary.url)
        login = await make_login(pair.primary.url)
        await asyncio.to_thread(pair.replicate)
        await pair.synchronous()
        # One beside each server. They outlive their servers here, and go on to take clients.
        hosts = [poolers.enter_context(PgBouncer(directory, server.url)).host for server in pair.servers]
        pooled = {
            "MACAO_DATABASE_URL": f"{login.partition('@')[0]}@{','.join(hosts)}/macao",
            "MACAO_DATABASE_DIRECT_URL": pair.url,
        }
        await play_on(pair, redis_url, directory, pooled, capsys)


async def play_on(
    pair: Pair, redis_url: str, directory: Path, pooled: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Play through so many failovers, and look at what is left."""
    chance = random.Random(7)
    async with services(pair.url, redis_url, directory, pooled) as processes:
        stop = threading.Event()
        loads = [Load(processes[seed % 2].url, seed, stop) for seed in range(LOADERS)]
        for load in loads:
            load.start()
        try:
            await progress(loads)
            for number in range(FAILOVERS):
                if number:
                    await asyncio.to_thread(pair.replicate)
                    await pair.synchronous()
                await asyncio.sleep(chance.uniform(0.5, 1.5))
                told = await fail_over(pair, loads, hangs=number % 3 == 2)
                with capsys.disabled():
                    print(f"\nfailover {number + 1}: {told}")  # noqa: T201 - the figure that the test is for
        finally:
            stop.set()
            await asyncio.to_thread(lambda: [load.join(60) for load in loads])
        assert [repr(load.error) for load in loads if load.error] == []
        done = [one for load in loads for one in load.done]
        await check(pair.primary.url, processes[0].url, done, directory / "checkpoints")


async def progress(loads: list[Load]) -> None:
    """Wait until each player has got through again."""
    before = [len(load.done) for load in loads]
    await asyncio.to_thread(
        wait_for, lambda: all(len(load.done) > count for load, count in zip(loads, before, strict=True)),
        tell=lambda: f"{[load.error for load in loads]}",
    )  # fmt: skip


async def fail_over(pair: Pair, loads: list[Load], *, hangs: bool) -> str:
    """Have the primary gone, promote the standby, and tell how long it took until moves were accepted."""
    before = sum(len(load.done) for load in loads)
    died = time.monotonic()
    await asyncio.to_thread(pair.primary.freeze if hangs else pair.primary.kill)
    await pair.promote()
    promoted = time.monotonic()
    dead = sum(len(load.done) for load in loads)
    await asyncio.to_thread(wait_for, lambda: sum(len(load.done) for load in loads) > dead)
    accepted = time.monotonic()
    await progress(loads)
    return (
        f"{before} moves before it; the primary {'hung' if hangs else 'died'}, promoted after {promoted - died:.2f} s,"
        f" a move accepted {accepted - promoted:.2f} s later, everybody's {time.monotonic() - promoted:.2f} s later"
    )


async def check(database: str, url: str, done: list[Acknowledged], outside: Path) -> None:
    """The log has what was acknowledged, is the one that was signed, and the tables are those of the log."""
    events = await log_of(database)
    check_log(events)
    check_acknowledged(events, done)
    with httpx.Client(base_url=url, timeout=10) as client:
        await asyncio.to_thread(check_retries, random.Random(1), done, client)
    over = [event.stream for _, event in events if event.type == "match-ended"]
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        for match in over[:20]:
            record = await http.get(f"/v1/matches/{match}/record")
            assert audit(read_record(record.content.splitlines(keepends=True)), CATALOGUE).sound
    found: list[LogFinding] = []
    async with Owner(database) as owner:
        report = Report(found.append)
        await audit_log(owner, CATALOGUE, report, outside=outside)
        assert [str(one) for one in found if one.check != "time"] == []
        assert report.tally.outside >= report.tally.checkpoints > 0
        await check_tables(owner)


async def check_tables(owner: "asyncpg.Connection[asyncpg.Record]") -> None:
    """What grew event by event, through the failover, is what a rebuild makes of the log."""
    rebuilds = Rebuilds("macao_log")
    for kind in PROJECTIONS:
        await rebuilds.request(owner, kind.NAME, kind.VERSION, Reason.OPERATOR, "compare")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await rebuilds.open(owner):
            await asyncio.sleep(0.05)
    for kind in PROJECTIONS:
        ended = await rebuilds.of(owner, kind.NAME)
        assert ended is not None
        assert (ended.state, ended.purpose, ended.differences) == ("done", "compare", 0), ended
    lost = await owner.fetch(
        "SELECT name, state, last_error FROM macao_log.subscriptions WHERE state <> 'running'"
    )
    assert lost == []
