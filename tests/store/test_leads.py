"""Who leads a subscription: a paused leader is replaced and can write nothing more; leads are shared out."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import asyncpg
import psutil
import pytest

from services.contracts.envelope import Recorded
from services.runtime.checkpoint import Checkpoint, FencedError
from services.runtime.database import Database
from services.runtime.log import EventLog, slice_of
from services.runtime.subscription import State, Subscription
from tests.store import pausing_worker
from tests.store.test_subscription import Notes, checkpoint, running
from tests.store.writers import Stream, write_rounds

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LEASE_SECONDS = 1.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.runtime.subscription.STANDBY_SECONDS", 0.05)
    monkeypatch.setattr("services.runtime.subscription.HEARTBEAT_SECONDS", 0.2)


async def paused(database: str, where: str) -> asyncio.subprocess.Process:
    """Start a leader and wait until it has stopped itself."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(pausing_worker.__file__)), database, str(LEASE_SECONDS), where
    )
    async with asyncio.timeout(30):
        while psutil.Process(worker.pid).status() != psutil.STATUS_STOPPED:
            await asyncio.sleep(0.02)
    return worker


@pytest.mark.slow
@pytest.mark.parametrize("where", ["reading", "writing", "idle"])
async def test_a_leader_that_was_stopped_and_wakes_up_writes_nothing(
    where: str, database: str, opened: Database, log: EventLog, owner: Owner
) -> None:
    await owner.execute(pausing_worker.TABLE)
    await owner.execute(pausing_worker.RIGHTS)
    await write_rounds(log.append, Stream(), 3)
    worker = await paused(database, where)
    before = (await checkpoint(owner, pausing_worker.NAME))["epoch"]
    second = Subscription(
        opened, log, None, pausing_worker.NAME, 1, pausing_worker.apply, lease_seconds=LEASE_SECONDS
    )
    try:
        async with running(second):
            async with asyncio.timeout(30):
                while second.status.state is not State.RUNNING:
                    await asyncio.sleep(0.02)
                await second.caught_up()
            assert (await checkpoint(owner, pausing_worker.NAME))["epoch"] == before + 1
            worker.send_signal(signal.SIGCONT)
            for _ in range(5):
                await write_rounds(log.append, Stream(), 2)
                await second.caught_up()
                await asyncio.sleep(0.2)
            assert second.status.state is State.RUNNING
            head = await log.head_position()
        # It lives, and stands by: when the second has gone, it goes on from there.
        await write_rounds(log.append, Stream(), 2)
        end = await log.head_position()
        async with asyncio.timeout(30):
            while (await checkpoint(owner, pausing_worker.NAME))["position"] < end:
                await asyncio.sleep(0.05)
    finally:
        worker.kill()
        await worker.wait()
    rows = await owner.fetch("SELECT position, pid FROM public.pausing ORDER BY position")
    assert [row["position"] for row in rows] == list(range(1, end + 1))  # each once, none lost
    first = [row["position"] for row in rows if row["pid"] == worker.pid and row["position"] <= head]
    assert first == ([*range(1, 7)] if where == "idle" else [])


async def test_an_old_epoch_moves_nothing_even_where_the_position_still_fits(
    opened: Database, log: EventLog, owner: Owner
) -> None:
    await write_rounds(log.append, Stream(), 2)
    old = Checkpoint(log.schema, "one", 1, 0, "old", 0.0)
    new = Checkpoint(log.schema, "one", 1, 0, "new", 0.0)
    digest = (await log.read_all(0, 1))[0].event.hash
    first, second = await opened.connect("old"), await opened.connect("new")
    try:
        assert await old.take(first) is not None
        assert await new.take(second) is not None  # the lease of nothing has run out
        for attempt in (
            old.move(first, 0, 1, digest), old.beat(first), old.well(first),
        ):  # fmt: skip
            with pytest.raises(FencedError):
                await attempt
        await old.stop(first, "stopped", "not for me to say")
        await old.resign(first)
        assert (await new.move(second, 0, 1, digest)).parked == 0
    finally:
        await first.close()
        await second.close()
    row = await checkpoint(owner, "one")
    assert (row["position"], row["epoch"], row["leader"], row["state"]) == (1, 2, "new", "running")


async def test_a_silent_leader_is_replaced_and_a_living_one_is_not(opened: Database, log: EventLog) -> None:
    living = Checkpoint(log.schema, "one", 1, 0, "living", 15.0)
    candidate = Checkpoint(log.schema, "one", 1, 0, "candidate", 15.0)
    first, second = await opened.connect("living"), await opened.connect("candidate")
    try:
        assert await living.take(first) is not None
        assert await candidate.take(second) is None
        await second.execute(
            "UPDATE macao_log.subscriptions SET heartbeat_at = now() - interval '16 seconds' WHERE name = 'one'"
        )
        async with first.transaction():  # it is just writing: not silent at all
            await first.execute("UPDATE macao_log.subscriptions SET leader = leader WHERE name = 'one'")
            assert await candidate.take(second) is None
        assert await candidate.take(second) is not None
    finally:
        await first.close()
        await second.close()


async def test_leads_are_shared_out_among_processes(
    opened: Database, log: EventLog, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def shares() -> list[int] | None:
        leads = await led()
        return None if None in leads else sorted(leads.values())  # None: a lead is just changing hands

    async def led() -> dict[str | None, int]:
        rows = await owner.fetch("SELECT leader, count(*) FROM macao_log.subscriptions GROUP BY leader")
        return {row[0]: row[1] for row in rows}

    def as_process(name: str) -> list[Subscription]:
        monkeypatch.setattr("services.runtime.subscription.process_name", lambda: name)
        return [Subscription(opened, log, None, f"s{number}", 1, notes.apply) for number in range(5)]

    notes = Notes()
    async with running(*as_process("one")):
        await settled(led, {"one": 5})
        async with running(*as_process("two")):
            await settled(led, {"one": 3, "two": 2})
            async with running(*as_process("three")):
                # Which of them ends with one depends on whom the newcomer asks first.
                await settled(shares, [1, 2, 2])
                shared_out = await led()
                await write_rounds(log.append, Stream(), 3)
                await asyncio.sleep(1.0)
                assert await led() == shared_out  # and nothing goes to and fro
    assert sorted(notes.positions) == sorted(list(range(1, 7)) * 5)


async def settled(asked: Callable[[], Awaitable[object]], wanted: object) -> None:
    last: object = None
    try:
        async with asyncio.timeout(60):
            while (last := await asked()) != wanted:
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{last} instead of {wanted}")


async def test_slices_see_each_event_once_and_keep_streams_whole(
    opened: Database, log: EventLog, owner: Owner
) -> None:
    seen: list[list[Recorded]] = [[], [], []]

    def slice_at(number: int) -> Subscription:
        async def apply(_connection: object, batch: list[Recorded]) -> None:
            seen[number].extend(batch)

        return Subscription(opened, log, None, "sliced", 1, apply, slice=number, slices=3, page_max=2)

    streams = [Stream() for _ in range(12)]
    slices = [slice_at(number) for number in range(3)]
    async with running(*slices):
        for _ in range(3):
            for stream in streams:
                await write_rounds(log.append, stream, 1)
            head = await log.head_position()
            assert [await one.caught_up() for one in slices] == [head] * 3
    everything = sorted((recorded for part in seen for recorded in part), key=lambda one: one.position)
    assert [recorded.position for recorded in everything] == list(range(1, head + 1))
    for number, part in enumerate(seen):
        assert part == sorted(part, key=lambda one: one.position)
        assert {slice_of(recorded.event.stream, 3) for recorded in part} <= {number}
    rows = await owner.fetch("SELECT position, event_hash FROM macao_log.subscriptions WHERE name = 'sliced'")
    last = (await log.read_all(head - 1, 1))[0].event.hash
    assert [tuple(row) for row in rows] == [(head, last)] * 3
