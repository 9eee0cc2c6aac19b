"""A subscription never loses its place, whatever happens to it."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest
from asyncpg import Connection

from services.contracts.envelope import Recorded
from services.runtime.bus import Bell
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.subscription import State, Subscription
from tests.store import counting_worker
from tests.store.writers import Stream, settings_for, write_rounds

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class Notes:
    """Remembers what was applied; can be told to fail at a position."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.poison: int | None = None
        self.failures_left = 10_000

    async def apply(self, _connection: Connection[Any], batch: list[Recorded]) -> None:
        positions = [recorded.position for recorded in batch]
        if self.poison in positions and self.failures_left:
            self.failures_left -= 1
            raise KeyError("nobody can read this")
        self.positions += positions


@asynccontextmanager
async def running(*subscriptions: Subscription) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(subscription.run()) for subscription in subscriptions]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.runtime.subscription.BACKOFF_FIRST_SECONDS", 0.001)
    monkeypatch.setattr("services.runtime.subscription.STANDBY_SECONDS", 0.05)


async def position(owner: Owner) -> int:
    return await owner.fetchval("SELECT coalesce(max(position), 0) FROM macao_log.subscriptions") or 0


async def checkpoint(owner: Owner, name: str) -> asyncpg.Record:
    row = await owner.fetchrow("SELECT * FROM macao_log.subscriptions WHERE name = $1", name)
    assert row is not None
    return row


async def test_it_works_off_what_is_there_and_what_comes(opened: Database, log: EventLog, owner: Owner):
    notes, stream = Notes(), Stream()
    await write_rounds(log.append, stream, 10)
    subscription = Subscription(opened, log, None, "one", 1, notes.apply, page_max=4)
    async with running(subscription):
        reached = await subscription.caught_up()
        assert notes.positions == list(range(1, reached + 1))
        await write_rounds(log.append, stream, 3)
        reached = await subscription.caught_up()
        assert notes.positions == list(range(1, reached + 1))
        assert subscription.status.state is State.RUNNING
        assert subscription.status.position == reached
    row = await checkpoint(owner, "one")
    assert (row["position"], row["event_hash"], row["state"]) == (reached, stream.head.hash, "running")


async def test_a_ring_is_quicker_than_the_poll(database: str):
    settings = settings_for(database, poll_seconds=30.0)
    async with Database(settings) as opened, Bell(settings) as bell, EventLog(opened, bell) as log:
        subscription = Subscription(opened, log, bell, "one", 1, Notes().apply)
        async with running(subscription):
            for _ in range(20):
                await write_rounds(log.append, Stream(), 1)
                async with asyncio.timeout(10):
                    await subscription.caught_up()


async def test_names_and_versions_go_their_own_ways(opened: Database, log: EventLog):
    await write_rounds(log.append, Stream(), 6)
    notes = [Notes(), Notes(), Notes()]
    subscriptions = [
        Subscription(opened, log, None, name, version, note.apply)
        for (name, version), note in zip((("a", 1), ("a", 2), ("b", 1)), notes, strict=True)
    ]
    async with running(*subscriptions):
        for subscription in subscriptions:
            await subscription.caught_up()
    assert notes[0].positions == notes[1].positions == notes[2].positions == list(range(1, 13))


@pytest.mark.parametrize("window", [3, 1_000])
async def test_of_types_it_is_given_those_and_of_streams_at_least_the_last_event(
    opened: Database, log: EventLog, window: int
):
    wanted = "busted"
    for stream, rounds in ((Stream(), 3), (Stream(), 1), (Stream(), 2)):
        await write_rounds(log.append, stream, rounds)
        item = stream.next(type=wanted)
        await log.append(item)
        stream.took(item)
        await write_rounds(log.append, stream, 2)
    everything = await log.read_all(0)
    of_type = [one.position for one in everything if one.event.type == wanted]
    ends = {one.event.stream: one.position for one in everything}
    typed, moved = Notes(), Notes()
    subscriptions = [
        Subscription(opened, log, None, "typed", 1, typed.apply, page_max=window, types={wanted}),
        Subscription(
            opened, log, None, "moved", 1, moved.apply, page_max=window, types={wanted}, newest=True
        ),
    ]
    async with running(*subscriptions):
        for subscription in subscriptions:
            await subscription.caught_up()
    assert typed.positions == of_type
    assert {*of_type, *ends.values()} <= set(moved.positions)
    assert moved.positions == sorted(set(moved.positions))
    if window > len(everything):
        assert set(moved.positions) == {*of_type, *ends.values()}
    assert [one.status.position for one in subscriptions] == [everything[-1].position] * 2


@pytest.mark.usefixtures("quick")
async def test_one_works_the_other_stands_by_and_takes_over(opened: Database, log: EventLog):
    first, second = Notes(), Notes()
    one = Subscription(opened, log, None, "same", 1, first.apply)
    two = Subscription(opened, log, None, "same", 1, second.apply)
    async with running(two):
        await write_rounds(log.append, Stream(), 3)
        await two.caught_up()  # so it is the one that works
        async with running(one):
            await asyncio.sleep(0.1)
            await write_rounds(log.append, Stream(), 3)
            await one.caught_up()  # by the other's work
            assert one.status.state is State.STANDBY
    async with running(one):
        await write_rounds(log.append, Stream(), 3)
        await one.caught_up()
    assert second.positions == list(range(1, 13))
    assert first.positions == list(range(13, 19))


@pytest.mark.usefixtures("quick")
async def test_a_passing_fault_is_outlived(opened: Database, log: EventLog, owner: Owner):
    notes = Notes()
    notes.poison, notes.failures_left = 5, 3
    await write_rounds(log.append, Stream(), 6)
    subscription = Subscription(opened, log, None, "one", 1, notes.apply)
    async with running(subscription):
        await subscription.caught_up()
    assert notes.positions == list(range(1, 13))
    assert subscription.status.last_error is None
    assert (await checkpoint(owner, "one"))["last_error"] is None


@pytest.mark.usefixtures("quick")
async def test_an_event_that_always_fails_stops_it_right_there(opened: Database, log: EventLog, owner: Owner):
    notes = Notes()
    notes.poison = 5
    await write_rounds(log.append, Stream(), 6)
    subscription = Subscription(opened, log, None, "one", 1, notes.apply)
    await subscription.run()
    assert subscription.status.state is State.STOPPED
    assert "position 5" in (subscription.status.last_error or "")
    with pytest.raises(RuntimeError, match="is stopped"):
        await subscription.caught_up()
    row = await checkpoint(owner, "one")
    assert (row["position"], row["state"]) == (4, "stopped")
    assert "nobody can read this" in row["last_error"]

    notes.poison = None  # mended, and started again
    async with running(subscription):
        await subscription.caught_up()
    assert notes.positions == list(range(1, 13))
    assert (await checkpoint(owner, "one"))["state"] == "running"


async def test_effect_and_checkpoint_are_one(opened: Database, log: EventLog, owner: Owner, quick: None):
    await owner.execute(counting_worker.TABLE)
    await owner.execute(counting_worker.RIGHTS)
    await write_rounds(log.append, Stream(), 3)

    async def fails_late(connection: Connection[Any], batch: list[Recorded]) -> None:
        await counting_worker.apply(connection, batch)
        raise ArithmeticError

    await Subscription(opened, log, None, "one", 1, fails_late).run()
    assert await owner.fetchval("SELECT count(*) FROM public.counting") == 0
    assert (await checkpoint(owner, "one"))["position"] == 0


@pytest.mark.usefixtures("quick")
async def test_a_lost_tail_is_noticed_and_asks_for_a_rebuild(opened: Database, log: EventLog, owner: Owner):
    notes, stream = Notes(), Stream()
    await write_rounds(log.append, stream, 3)
    subscription = Subscription(opened, log, None, "one", 1, notes.apply)
    async with running(subscription):
        await subscription.caught_up()
    # A failover to a standby that was behind: the last events are gone, and their numbers are used again.
    await owner.execute("ALTER TABLE macao_log.events DISABLE TRIGGER append_only")
    await owner.execute("ALTER TABLE macao_log.streams DISABLE TRIGGER never_removed")
    await owner.execute("DELETE FROM macao_log.events WHERE version > 1; DELETE FROM macao_log.streams")
    await subscription.run()
    assert subscription.status.state is State.LOST_TAIL

    await write_rounds(log.append, Stream(), 6)
    assert await log.head_position() > 6
    await subscription.run()
    assert subscription.status.state is State.LOST_TAIL
    assert (await checkpoint(owner, "one"))["state"] == "lost-tail"
    assert "position 6" in (subscription.status.last_error or "")
    assert notes.positions == list(range(1, 7))
    with pytest.raises(RuntimeError, match="lost-tail"):
        await subscription.caught_up()


@pytest.mark.usefixtures("quick")
async def test_who_can_forget_begins_again_where_the_tail_was_lost(
    opened: Database, log: EventLog, owner: Owner
):
    notes = Notes()

    async def forget(_connection: object) -> None:
        notes.positions.clear()

    async def make(rounds: int) -> int:
        await write_rounds(log.append, Stream(), rounds)
        return await log.head_position()

    end = await make(3)
    first, again = (Subscription(opened, log, None, "one", 1, notes.apply, forget=forget) for _ in range(2))
    async with running(first):
        await first.caught_up()
    assert notes.positions == list(range(1, end + 1))
    await owner.execute("ALTER TABLE macao_log.events DISABLE TRIGGER append_only")
    await owner.execute("ALTER TABLE macao_log.streams DISABLE TRIGGER never_removed")
    await owner.execute("DELETE FROM macao_log.events WHERE version > 1; DELETE FROM macao_log.streams")
    end = await make(2)
    async with running(again):
        async with asyncio.timeout(20):
            while (await checkpoint(owner, "one"))["position"] != end or notes.positions[0] != 1:
                await asyncio.sleep(0.01)
        assert notes.positions == list(range(1, end + 1))
        assert (await checkpoint(owner, "one"))["state"] == "running"


@pytest.mark.usefixtures("quick")
async def test_a_killed_session_is_replaced(opened: Database, log: EventLog, owner: Owner):
    notes, stream = Notes(), Stream()
    subscription = Subscription(opened, log, None, "one", 1, notes.apply)
    async with running(subscription):
        for _ in range(5):
            await write_rounds(log.append, Stream(), 2)
            await subscription.caught_up()
            await owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'macao subscription one' AND datname = current_database()"
            )
        await write_rounds(log.append, stream, 2)
        await subscription.caught_up()
    assert notes.positions == list(range(1, 19))


async def test_it_says_that_it_is_alive(
    opened: Database, log: EventLog, owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("services.runtime.subscription.HEARTBEAT_SECONDS", 0.0)
    subscription = Subscription(opened, log, None, "one", 1, Notes().apply)
    async with running(subscription):
        await subscription.caught_up()
        first = (await checkpoint(owner, "one"))["heartbeat_at"]
        await asyncio.sleep(0.5)
        assert (await checkpoint(owner, "one"))["heartbeat_at"] > first


@pytest.mark.slow
async def test_killed_anywhere_the_rows_equal_the_fold(database: str, log: EventLog, owner: Owner):
    """Kill -9 at moments of chance, again and again, while events come in."""
    await owner.execute(counting_worker.TABLE)
    await owner.execute(counting_worker.RIGHTS)
    moments = random.Random(10)
    enough = asyncio.Event()

    async def write() -> None:
        while not enough.is_set():
            await write_rounds(log.append, Stream(), 3)

    writing = asyncio.create_task(write())
    script = Path(counting_worker.__file__)

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(sys.executable, str(script), database)

    for _ in range(8):
        worker = await start()
        before = await position(owner)
        while await position(owner) == before:  # it has begun to work
            await asyncio.sleep(0.01)
        await asyncio.sleep(moments.uniform(0.0, 0.1))
        worker.kill()
        await worker.wait()
    enough.set()
    await writing
    worker = await start()
    try:
        async with asyncio.timeout(60):
            wanted = await log.head_position()
            while (await checkpoint(owner, counting_worker.NAME))["position"] < wanted:
                await asyncio.sleep(0.05)
    finally:
        worker.kill()
        await worker.wait()
    everything: list[Recorded] = []
    while page := await log.read_all(len(everything)):
        everything += page
    row = await owner.fetchrow("SELECT events, digest FROM public.counting")
    assert tuple(row or ()) == (len(everything), counting_worker.fold(b"", everything))
