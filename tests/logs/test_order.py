"""Several logs are read as one: every event once, in an order that stays."""

import asyncio
import itertools
from contextlib import AsyncExitStack
from random import Random

import asyncpg
import pytest
from prometheus_client import CollectorRegistry

from services.contracts.envelope import Recorded
from services.contracts.ids import log_of
from services.runtime.checkpoint import LEASE_SECONDS
from services.runtime.log import EventLog, LogUnavailableError, Page, slice_of
from services.runtime.log.tails import LostTails, Witness
from services.runtime.logs.adding import LogsError, Sites, add_log, let_open, listed
from services.runtime.logs.mending import mend
from services.runtime.logs.order import Stretch, cut
from services.runtime.logs.servers import parse_log_servers
from services.runtime.settings import SettingsError
from services.runtime.subscription import State, Subscription
from tests.logs.conftest import spread, stream_in, write
from tests.store.writers import Stream, links_are_those_of_events, write_rounds
from tests.support.databases import PARTITIONS

NAMES = ("main", "north", "south")


@pytest.fixture
async def three(database: str) -> str:
    """A database with three logs in it."""
    for name in NAMES[1:]:
        await add_log(Sites(database, {}), name, "main", PARTITIONS)
    return database


async def all_of(log: EventLog, page: int = 100) -> list[Recorded]:
    found: list[Recorded] = []
    while more := await log.read_all(len(found), page):
        found += more
    return found


async def taken_in(log: EventLog) -> list[Recorded]:
    """Wait until everything that was written is in the order, and return it."""
    async with asyncio.timeout(10):
        while len(found := await all_of(log)) < await log.head_position():
            await asyncio.sleep(0.01)
    return found


async def test_every_event_of_every_log_comes_once_in_an_order_that_stays(three: str):
    async with spread(three) as log:
        writers = [stream_in(name) for name in NAMES for _ in range(4)]
        await asyncio.gather(*(write_rounds(log.append, stream, 30) for stream in writers))
        found = await taken_in(log)
    assert [recorded.position for recorded in found] == list(range(1, len(found) + 1))
    assert len(found) == 12 * 60
    by_stream = {stream.id: [] for stream in writers}
    for recorded in found:
        by_stream[recorded.event.stream].append(recorded.event.version)
    assert all(versions == list(range(1, 61)) for versions in by_stream.values())
    # The logs take turns: this is no order of one log behind the other.
    changes = sum(
        log_of(one.event.stream) != log_of(other.event.stream) for one, other in itertools.pairwise(found)
    )
    assert changes > 4
    async with spread(three) as again:
        for page in (1, 7, 1_000):
            assert await all_of(again, page) == found
        assert await again.head_position() == len(found)
        async with asyncio.timeout(5), again.apart() as apart:
            assert apart is not again
            assert await all_of(apart) == found


async def test_each_stream_lives_in_the_log_that_its_id_names_and_nowhere_else(three: str):
    async with spread(three) as log:
        streams = {name: stream_in(name) for name in NAMES}
        for stream in streams.values():
            await write(log, stream)
            assert await log.head_of(stream.id) == stream.head
            (recorded,) = await log.read_stream(stream.id)
            assert recorded.event.hash == stream.head.hash
            command = recorded.event.command
            assert (await log.find_command(command, stream.id)).stream == stream.id
        assert await log.heads_of([*(stream.id for stream in streams.values()), "m_none"]) == {
            stream.id: 1 for stream in streams.values()
        }
        for name, part in zip(NAMES, log.parts, strict=True):
            rows = await log.database.pool.fetch(f"SELECT id FROM {part.schema}.streams")
            assert [row[0] for row in rows] == [streams[name].id]


async def test_the_order_of_the_first_log_alone_is_nobodys_as_soon_as_there_is_another(database: str):
    """Also in a process that does not know of it yet."""
    async with spread(database, poll_seconds=60) as log:
        await write(log, stream_in("main"), b"{}", b"{}")
        async with log.database.pool.acquire() as connection:
            assert len((await log.read_types(0, 10, ["rolled"], connection)).events) == 2
            await add_log(Sites(database, {}), "north", "main", PARTITIONS)
            assert len(log.parts) == 1
            nothing = Page([], 0, b"")
            assert await log.read_all(0, connection=connection) == []
            assert await log.read_slice(0, 10, 0, 1, connection) == nothing
            for newest in (False, True):
                assert await log.read_types(0, 10, ["rolled"], connection, newest=newest) == nothing


async def test_a_log_that_nobody_knows_holds_nothing_and_takes_nothing(three: str):
    async with spread(three) as log:
        stray = stream_in("elsewhere")
        assert await log.head_of(stray.id) is None
        assert await log.read_stream(stray.id) == []
        assert await log.read_links(stray.id) == []
        assert await log.find_command("c_1", stray.id) is None
        with pytest.raises(LogUnavailableError, match="elsewhere"):
            await log.append(stray.next())


async def test_positions_of_the_first_log_stay_when_another_is_added_while_it_is_read(database: str):
    seen: list[Recorded] = []

    async def apply(_connection: object, page: list[Recorded]) -> None:
        seen.extend(page)

    async with spread(database) as log:
        writers = [stream_in("main") for _ in range(4)]
        tasks = [asyncio.create_task(write_rounds(log.append, stream, 60)) for stream in writers]
        reader = Subscription(log.database, log, log._bell, "reader", 1, apply)
        reading = asyncio.create_task(reader.run())
        await asyncio.sleep(0.1)
        await add_log(Sites(database, {}), "north", "main", PARTITIONS)
        async with asyncio.timeout(5):
            while len(log.parts) < 2:
                await asyncio.sleep(0.01)
        await asyncio.gather(*tasks, write_rounds(log.append, stream_in("north"), 60))
        await reader.caught_up()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        found = await taken_in(log)
        # What was read as one log alone, and what was read of both, are one order.
        assert seen == found
        assert len(found) == 5 * 120
        begun = await log.database.pool.fetchval(
            "SELECT position FROM macao_runtime.reading_order ORDER BY position LIMIT 1"
        )
        alone = await log.database.pool.fetch(
            "SELECT position, hash FROM macao_log.events WHERE position <= $1 ORDER BY position", begun
        )
        assert [(row[0], row[1]) for row in alone] == [
            (recorded.position, recorded.event.hash) for recorded in found[:begun]
        ]


async def test_who_does_not_know_yet_that_there_are_several_reads_nothing_rather_than_wrongly(database: str):
    async with spread(database, poll_seconds=60) as late:
        stream = stream_in("main")
        await write(late, stream, b"{}", b"{}")
        assert len(await late.read_all(0)) == 2
        await add_log(Sites(database, {}), "north", "main", PARTITIONS)
        await write(late, stream)
        assert len(late.parts) == 1
        assert await late.read_all(0) == []
        async with late.database.pool.acquire() as connection:
            assert (await late.read_slice(0, 10, 0, 2, connection)).events == []
        # Somebody names the other log, and so it gets to know.
        assert await late.head_of(stream_in("north").id) is None
        assert len(late.parts) == 2


async def test_what_stands_at_the_table_comes_before_the_match_that_was_started_for_it(three: str):
    """The board finds a match by what its table asked for; here every match event has one in the main log before it."""
    chance = Random(3)
    async with spread(three) as log:

        async def one() -> tuple[str, str]:
            table, match = stream_in("main", "t"), stream_in(chance.choice(NAMES))
            await write(log, table)
            await write(log, match)
            return table.id, match.id

        pairs = [pair for _ in range(12) for pair in await asyncio.gather(*(one() for _ in range(10)))]
        place = {recorded.event.stream: recorded.position for recorded in await taken_in(log)}
    assert all(place[table] < place[match] for table, match in pairs)


async def test_slices_and_streams_are_read_with_the_positions_of_the_order(three: str):
    async with spread(three) as log:
        streams = [stream_in(name) for name in NAMES for _ in range(3)]
        for _ in range(5):
            await asyncio.gather(*(write(log, stream, b"{}", b"{}") for stream in streams))
            await taken_in(log)
        hidden = streams[-1].next(b"{}", sealed=b'{"seat":1}')
        await log.append(hidden)
        found = await taken_in(log)
        async with log.database.pool.acquire() as connection:
            slices = [(await log.read_slice(0, 1_000, slice_, 3, connection)).events for slice_ in range(3)]
            assert sorted(itertools.chain(*slices), key=lambda recorded: recorded.position) == found
            assert all(
                slice_of(one.event.stream, 3) == slice_ for slice_ in range(3) for one in slices[slice_]
            )
            for stream in streams:
                mine = [recorded for recorded in found if recorded.event.stream == stream.id]
                assert await log.read_stream_in_order(stream.id, 0, 1_000, connection) == mine
                assert await log.read_stream_in_order(stream.id, 3, 2, connection) == mine[3:5]
                links = await links_are_those_of_events(log, stream)
                assert [link.hash for link in links] == [one.event.hash for one in mine]
            assert await log.hash_at(7, connection) == found[6].event.hash
            lag = await log.lag_after(len(found) - 2, connection)
            assert lag.head == len(found)
            assert 0 < lag.seconds < 60
            assert (await log.lag_after(len(found), connection)).seconds == 0


def test_stretches_are_cut_to_what_is_asked():
    stretches = [Stretch(5, "a", 5, 5), Stretch(8, "b", 3, 3), Stretch(12, "a", 9, 4)]
    assert cut(stretches, 0, 100) == stretches
    assert cut(stretches, 3, 10) == [Stretch(5, "a", 5, 2), Stretch(8, "b", 3, 3), Stretch(10, "a", 7, 2)]
    assert cut(stretches, 6, 7) == [Stretch(7, "b", 2, 1)]
    assert cut(stretches, 12, 20) == []


async def test_two_processes_take_in_and_nothing_comes_twice_when_one_is_gone(three: str):
    async with spread(three) as one:
        async with spread(three) as other:
            streams = zip((one, other, one), (stream_in(name) for name in NAMES), strict=True)
            await asyncio.gather(*(write_rounds(log.append, stream, 20) for log, stream in streams))
            before = await taken_in(other)
            owner = await asyncpg.connect(three)
            ended = await owner.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'macao reading order' AND datname = current_database()"
            )
            await owner.close()
            assert ended == 2
            await asyncio.gather(*(write_rounds(other.append, stream_in(name), 20) for name in NAMES))
            assert len(await taken_in(one)) == 2 * len(before)
        await asyncio.gather(*(write_rounds(one.append, stream_in(name), 20) for name in NAMES))
        found = await taken_in(one)
    assert found[: len(before)] == before
    assert len(found) == 3 * len(before) == 3 * 3 * 39


async def test_a_log_that_lost_its_tail_is_left_out_until_it_is_mended(three: str):
    states: list[list[Recorded]] = []

    async def apply(_connection: object, page: list[Recorded]) -> None:
        states.append(page)

    owner = await asyncpg.connect(three)
    async with spread(three) as log:
        kept, lost = stream_in("north"), stream_in("north")
        await write_rounds(log.append, kept, 5)
        await taken_in(log)
        await write_rounds(log.append, lost, 5)
        await write_rounds(log.append, stream_in("south"), 5)
        before = await taken_in(log)
        await owner.execute("ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only")
        await owner.execute("ALTER TABLE macao_log_north.streams DISABLE TRIGGER never_removed")
        await owner.execute("DELETE FROM macao_log_north.events WHERE stream = $1", lost.id)
        await owner.execute("DELETE FROM macao_log_north.streams WHERE id = $1", lost.id)
        # Others take the places; the main log and the south go on.
        new = stream_in("north")
        await write_rounds(log.append, new, 8)
        south = stream_in("south")
        await write_rounds(log.append, south, 2)
        async with asyncio.timeout(5):
            while not log._taker._lost:
                await asyncio.sleep(0.01)
        assert log._taker._lost == {"north"}
        with pytest.raises(LogsError, match="holds everything"):
            await mend(Sites(three, {}), "south")
        told = await mend(Sites(three, {}), "north")
        assert "macao rebuild --all" in told
        async with asyncio.timeout(5):
            while log._taker._lost:
                await asyncio.sleep(0.01)
        after = await taken_in(log)
        assert [recorded.position for recorded in after] == list(range(1, len(after) + 1))
        assert {recorded.event.stream for recorded in after} == (
            {recorded.event.stream for recorded in before} - {lost.id} | {new.id, south.id}
        )
        # A reader that had worked off what is lost notices.
        position = next(recorded.position for recorded in before if recorded.event.stream == lost.id)
        await log.database.pool.execute(
            "INSERT INTO macao_log.subscriptions (name, version, position, event_hash) VALUES ('late', 1, $1, $2)",
            position,
            before[position - 1].event.hash,
        )
        reader = Subscription(log.database, log, None, "late", 1, apply, lease_seconds=LEASE_SECONDS)
        async with asyncio.timeout(10):
            await reader.run()
        assert reader.status.state is State.LOST_TAIL
    await owner.close()
    assert states == []


async def test_every_process_notices_that_a_log_lost_its_tail_and_that_it_is_mended(three: str):
    said: list[dict[str, bool]] = [{}, {}, {}]

    async def all_say(log: str, *, lost: bool) -> None:
        async with asyncio.timeout(10):
            while [one.get(log) for one in said] != [lost] * len(said):
                await asyncio.sleep(0.02)

    owner = await asyncpg.connect(three)
    async with AsyncExitStack() as stack:
        log, *_ = [await stack.enter_async_context(spread(three, told=one.__setitem__)) for one in said]
        await write_rounds(log.append, stream_in("north"), 5)
        await write_rounds(log.append, stream_in("south"), 5)
        await taken_in(log)
        for name in NAMES:
            await all_say(name, lost=False)
        await owner.execute("ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only")
        await owner.execute("DELETE FROM macao_log_north.events WHERE position > 3")
        await all_say("north", lost=True)
        assert [{name for name, lost in one.items() if lost} for one in said] == [{"north"}] * 3
        await mend(Sites(three, {}), "north")
        await all_say("north", lost=False)
        await taken_in(log)  # mending takes all logs in anew, from where one had lost its tail
        # A server that came back with nothing: the others are read on, and it is told of as well.
        await owner.execute("DROP SCHEMA macao_tree_south, macao_log_south CASCADE")
        await all_say("south", lost=True)
        read = await owner.fetchval("SELECT max(position) FROM macao_runtime.reading_order")
        stream = stream_in("main")
        await write(log, stream)
        async with asyncio.timeout(10):
            while not (found := await log.read_all(read)):
                await asyncio.sleep(0.02)
        assert [recorded.event.stream for recorded in found] == [stream.id]
    await owner.close()


def test_a_log_has_lost_its_tail_while_one_witness_says_so():
    registry = CollectorRegistry()
    tails = LostTails(registry)

    def shown() -> float | None:
        return registry.get_sample_value("macao_log_lost_tail", {"log": "north"})

    assert shown() is None
    for witness, lost, expected in (
        (Witness.ORDER, False, 0.0),
        (Witness.SEAL, True, 1.0),
        (Witness.ORDER, True, 1.0),
        (Witness.SEAL, False, 1.0),
        (Witness.ORDER, False, 0.0),
    ):
        tails.tell("north", witness, lost=lost)
        assert shown() == expected


async def test_new_matches_are_spread_evenly_over_the_logs_that_are_open(three: str):
    sites = Sites(three, {})
    async with spread(three) as log:
        chance = Random(1)
        drawn = [log.log_for(chance.randbytes(10)) for _ in range(3_000)]
        assert all(900 < drawn.count(name) < 1_100 for name in NAMES)
        await let_open(sites, "main", opens=False)
        await let_open(sites, "south", opens=False)
        async with asyncio.timeout(5):
            while {log.log_for(chance.randbytes(10)) for _ in range(50)} != {"north"}:
                await asyncio.sleep(0.02)
        with pytest.raises(LogsError, match="the last log that is open"):
            await let_open(sites, "north", opens=False)
        connection = await asyncpg.connect(three)
        assert [(one.name, one.opens) for one in await listed(connection)] == [
            ("main", False), ("north", True), ("south", False),
        ]  # fmt: skip
        await connection.close()


async def test_a_log_that_cannot_be_added_is_told_why(three: str):
    sites = Sites(three, {"away": "postgresql://macao@127.0.0.1:1/macao"})
    for name, server, told in (
        ("north", "main", "already"),
        ("main", "main", "already"),
        ("North", "main", "no name for a log"),
        ("a-b", "main", "no name for a log"),
        ("x" * 33, "main", "no name for a log"),
        ("west", "nowhere", "MACAO_LOG_SERVERS does not name a server nowhere; known are main, away"),
        ("west", "away", "the server away cannot be reached"),
    ):
        with pytest.raises(LogsError, match=told):
            await add_log(sites, name, server, PARTITIONS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("postgresql://:secret@host/db", "its word 1 is not like"),
        ("a=postgresql://h/d b", "its word 2 is not like"),
        ("A=postgresql://h/d", "its word 1 is not like"),
        ("main=postgresql://h/d", "the name main is taken by MACAO_DATABASE_URL"),
        ("a=postgresql://h/d a=postgresql://h/e", "the name a is taken"),
        ("a=mysql://:secret@h/d", "does not begin with postgresql://"),
    ],
)
def test_servers_that_cannot_be_read_are_told_without_their_passwords(text: str, told: str):
    with pytest.raises(SettingsError, match=r"^MACAO_LOG_SERVERS cannot be used: ") as caught:
        parse_log_servers(text)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_process_that_does_not_know_the_server_of_a_log_does_not_start(three: str):
    connection = await asyncpg.connect(three)
    await connection.execute("UPDATE macao_runtime.logs SET server = 'b' WHERE name = 'north'")
    await connection.close()
    with pytest.raises(SettingsError, match="north lives on the server b, which MACAO_LOG_SERVERS does not"):
        async with spread(three):
            pass


async def test_a_server_that_is_away_holds_up_its_own_matches_alone(three: str):
    away = "b=postgresql://macao@127.0.0.1:1/macao"
    connection = await asyncpg.connect(three)
    await connection.execute("UPDATE macao_runtime.logs SET server = 'b' WHERE name = 'north'")
    await connection.close()
    async with spread(three, away) as log:
        south = Stream(stream_in("south").id)
        await write_rounds(log.append, south, 3)
        async with asyncio.timeout(5):
            while len(await all_of(log)) < 6:
                await asyncio.sleep(0.01)
        with pytest.raises(LogUnavailableError):
            await log.append(stream_in("north").next())
        with pytest.raises(OSError, match="the server b"):
            await log.head_of(stream_in("north").id)
        assert await log.head_position() == 6
        assert await log.heads_of([south.id, stream_in("north").id]) == {south.id: 6}
        assert {log.log_for(bytes([at])) for at in range(20)} == {"main", "south"}
