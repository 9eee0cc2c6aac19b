"""The live board."""

import msgspec
import pytest

from services.contracts.events.table import PlayerJoined, SettingsChanged, TableClosed
from services.projections.board import stream as board_stream
from tests.projections.stories import Story, a, player
from tests.projections.support import eventually, running


class Teller:
    """A story that is told bit by bit."""

    def __init__(self, here):
        self.here = here
        self.story = Story()

    async def tell(self):
        commands, self.story.commands = self.story.commands, []
        await self.here.tell(commands)
        return self.story.position


def settings(visibility):
    return SettingsChanged(msgspec.Raw(b"{}"), 2, None, visibility, True)


async def connected(here):
    return here.platform.bell.connected


async def test_a_snapshot_then_changes(database):
    async with running(database, poll_seconds=10) as here:
        teller = Teller(here)
        table = teller.story.table()
        await teller.tell()
        await here.caught_up()
        async with here.stream() as reader:
            event, at, data = await reader.next()
            assert (event, at, data["position"], data["whole"], data["gone"]) == ("snapshot", 1, 1, True, [])
            assert [item["id"] for item in data["items"]] == [table]
            # Nobody polls within ten seconds: it is the doorbell that brings these.
            teller.story.happen(table, PlayerJoined(1, player(2), "-"))
            await teller.tell()
            event, at, data = await reader.next()
            assert (event, at, data["seats_taken"]) == ("table", 2, 2)
            teller.story.happen(table, settings("private"))
            await teller.tell()
            assert await reader.next() == ("gone", 3, {"id": table})
            teller.story.table(2, visibility="private")
            teller.story.happen(table, settings("public"))
            await teller.tell()
            event, at, data = await reader.next()
            assert (event, at, data["id"]) == ("table", 5, table)


@pytest.mark.parametrize("header", [True, False], ids=["Last-Event-ID", "?after="])
async def test_who_comes_back_gets_what_changed_meanwhile(database, header):
    async with running(database) as here:
        teller = Teller(here)
        for number in range(1, 5):
            teller.story.table(number)
        await teller.tell()
        await here.caught_up()
        async with here.stream() as reader:
            _, left, _ = await reader.next()
        teller.story.happen(a("t", 2), PlayerJoined(1, player(2), "-"))
        teller.story.happen(a("t", 3), TableClosed("host"))
        end = await teller.tell()
        await here.caught_up()
        path = "/v1/lobby/stream" if header else f"/v1/lobby/stream?after={left}"
        async with here.stream(path, {"Last-Event-ID": str(left)} if header else None) as reader:
            event, at, data = await reader.next()
        assert (event, at, data["whole"], data["gone"]) == ("snapshot", end, False, [a("t", 3)])
        assert [item["id"] for item in data["items"]] == [a("t", 2)]


async def test_an_id_that_the_log_never_had_gives_the_whole_board(database):
    async with running(database) as here:
        teller = Teller(here)
        teller.story.table()
        await teller.tell()
        await here.caught_up()
        async with here.stream("/v1/lobby/stream?after=1000000") as reader:
            event, at, data = await reader.next()
        assert (event, at, data["whole"], len(data["items"])) == ("snapshot", 1, True, 1)


async def test_who_has_missed_too_much_gets_the_whole_board(database, monkeypatch):
    monkeypatch.setattr(board_stream, "READ_MAX", 3)
    async with running(database) as here:
        teller = Teller(here)
        for number in range(1, 8):
            teller.story.table(number)
        await teller.tell()
        await here.caught_up()
        async with here.stream("/v1/lobby/stream?after=3") as reader:
            _, _, data = await reader.next()
            assert (data["whole"], len(data["items"])) == (True, 7)
        async with here.stream("/v1/lobby/stream?after=4") as reader:
            _, _, data = await reader.next()
            assert (data["whole"], len(data["items"])) == (False, 3)


@pytest.mark.parametrize("redis", [True, False], ids=["by Redis", "by polling"])
async def test_a_stream_of_another_process_than_the_one_that_writes_the_board(database, redis_url, redis):
    fields = {"redis_url": redis_url if redis else "", "poll_seconds": 0.2}
    async with running(database, **fields) as worker:
        teller = Teller(worker)
        teller.story.table()
        await teller.tell()
        await worker.caught_up()
        async with running(database, **fields) as other, other.stream() as reader:
            if redis:
                await eventually(lambda: connected(other))
            await reader.next()
            for number in range(2, 6):
                teller.story.table(number)
                await teller.tell()
                event, at, data = await reader.next()
                assert (event, at, data["id"]) == ("table", number, a("t", number))


async def test_many_readers_cost_one_reading(database, monkeypatch):
    async with running(database, poll_seconds=10) as here:
        teller = Teller(here)
        teller.story.table()
        await teller.tell()
        await here.caught_up()
        readers = [here.stream() for _ in range(20)]
        open_readers = [await reader.__aenter__() for reader in readers]
        for reader in open_readers:
            await reader.next()
        read = 0
        original = board_stream.BoardStream._read

        async def counted(self, after):
            nonlocal read
            frames = await original(self, after)
            read += bool(frames)
            return frames

        monkeypatch.setattr(board_stream.BoardStream, "_read", counted)
        for number in (2, 3, 4):
            teller.story.table(number)
            await teller.tell()
            for reader in open_readers:
                assert (await reader.next())[2]["id"] == a("t", number)
        assert read == 3
        for reader in readers:
            await reader.__aexit__(None, None, None)


async def test_a_board_that_was_built_anew_is_sent_whole_to_whoever_watches(database):
    async with running(database) as here:
        teller = Teller(here)
        for number in (1, 2):
            teller.story.table(number)
        await teller.tell()
        await here.caught_up()
        pool = here.platform.database.pool
        await pool.execute("DELETE FROM macao_projections.board WHERE table_id = $1", a("t", 1))  # a mistake
        async with here.stream() as reader:
            _, at, data = await reader.next()
            assert [item["id"] for item in data["items"]] == [a("t", 2)]
            answer = await here.client.post(
                "/v1/projections/board/rebuild", json={}, headers=here.token(player(1), "operate")
            )
            assert answer.status_code == 202
            event, again, data = await reader.next()
            assert (event, again, data["whole"]) == ("snapshot", at, True)
            assert [item["id"] for item in data["items"]] == [a("t", 2), a("t", 1)]
            teller.story.table(3)
            await teller.tell()
            event, _, data = await reader.next()
            assert (event, data["id"]) == ("table", a("t", 3))
        # Who was away has an id from before, and cannot know what is missing.
        async with here.stream(f"/v1/lobby/stream?after={at}") as reader:
            _, _, data = await reader.next()
        assert data["whole"] is True
