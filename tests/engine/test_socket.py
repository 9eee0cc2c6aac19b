"""A match over a WebSocket, against a real server: the frames of the stream, and moves on the same connection."""

import asyncio
import itertools
import json
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from services.engine import app as engine
from services.engine.live.match_stream import MatchSource
from services.lobby.app import service as lobby
from services.runtime.log import EventLog
from services.runtime.web import sockets
from services.runtime.web.socket_protocol import SocketProtocol
from tests.http.serving import served, stream_of


class Table:
    """A running match of two guests at a served engine and lobby."""

    def __init__(self, site, tokens, match):
        self.site, self.tokens, self.match = site, tokens, match
        self.address = f"ws://127.0.0.1:{site.port}/v1/matches/{match}/socket"
        self.http = httpx.AsyncClient(base_url=site.url)

    async def view(self, seat=None):
        headers = {} if seat is None else {"Authorization": f"Bearer {self.tokens[seat]}"}
        return (await self.http.get(f"/v1/matches/{self.match}", headers=headers)).json()

    async def events(self, after, seat=None):
        headers = {} if seat is None else {"Authorization": f"Bearer {self.tokens[seat]}"}
        path = f"/v1/matches/{self.match}/events?after={after}"
        return (await self.http.get(path, headers=headers)).json()["items"]


async def start(site, game, **options):
    """Let two guests begin a match, and return their table."""
    async with httpx.AsyncClient(base_url=site.url) as http:
        tokens = [
            (await http.post("/v1/players", json={"name": name})).json()["token"] for name in ("Anna", "Bela")
        ]
        headers = [{"Authorization": f"Bearer {token}", "Idempotency-Key": "k"} for token in tokens]
        asked = {"game": game, "seats": 2, "options": options}
        opened = await http.post("/v1/tables", json=asked, headers=headers[0])
        path = f"/v1/tables/{opened.json()['id']}"
        assert (await http.post(f"{path}/join", json={}, headers=headers[1])).is_success
        started = await http.post(f"{path}/start", headers={**headers[0], "Idempotency-Key": "s"})
        return Table(site, tokens, started.json()["match_id"])


@pytest_asyncio.fixture(loop_scope="session")
async def table(database):
    async with served(database, [engine.service, lobby], bots=False) as site:
        table = await start(site, "dice-race")
        yield table
        await table.http.aclose()


class Socket:
    def __init__(self, connection):
        self.connection = connection

    async def send(self, **message):
        await self.connection.send(json.dumps(message))

    async def next(self, *wanted):
        async with asyncio.timeout(10):
            while True:
                frame = json.loads(await self.connection.recv())
                assert set(frame) == {"event", "id", "data"}
                if not wanted or frame["event"] in wanted:
                    return frame


@asynccontextmanager
async def conversation(table, token=None, header=None, **hello):
    headers = {} if header is None else {"Authorization": f"Bearer {header}"}
    async with connect(table.address, additional_headers=headers, proxy=None) as connection:
        socket = Socket(connection)
        if header is None:
            more = {} if token is None else {"token": token}
            await socket.send(type="hello", **more, **hello)
        yield socket


async def test_moves_are_sent_and_told_on_one_connection(table):
    turn = (await table.view())["turn"]
    async with (
        conversation(table, table.tokens[turn]) as player,
        conversation(table, header=table.tokens[1 - turn]) as other,
        conversation(table) as watcher,
    ):
        snapshot = await player.next("snapshot")
        assert snapshot["data"]["your_seat"] == turn
        assert (await other.next("snapshot"))["data"]["your_seat"] == 1 - turn
        assert (await watcher.next("snapshot"))["data"]["your_seat"] is None
        roll = {"type": "move", "key": "a", "version": snapshot["id"], "move": {"type": "roll"}}
        await player.send(**roll)
        answer = await player.next("answer")
        assert (answer["data"]["key"], answer["data"]["replayed"]) == ("a", False)
        assert answer["data"]["answer"]["events"][0]["type"] == "rolled"
        for each in (player, other, watcher):
            told = await each.next("rolled")
            assert told["id"] == answer["data"]["answer"]["events"][0]["version"]
            assert told["data"] == answer["data"]["answer"]["events"][0]
        await player.send(**roll)
        again = await player.next("answer")
        assert again["data"] == {**answer["data"], "replayed": True}


async def test_a_move_may_be_repeated_over_http(table):
    view = await table.view()
    async with conversation(table, table.tokens[view["turn"]]) as player:
        await player.send(type="move", key="b", version=view["version"], move={"type": "roll"})
        first = (await player.next("answer"))["data"]["answer"]
    again = await table.http.post(
        f"/v1/matches/{table.match}/moves",
        content=b'{"move":{"type": "roll"}}',
        headers={
            "Authorization": f"Bearer {table.tokens[view['turn']]}", "Idempotency-Key": "b",
            "Content-Type": "application/json", "If-Match": str(view["version"]),
        },
    )  # fmt: skip
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first, "true")


async def test_refusals_come_as_problems_and_the_connection_stays(table):
    view = await table.view()
    async with (
        conversation(table, table.tokens[view["turn"]]) as player,
        conversation(table, table.tokens[1 - view["turn"]]) as other,
        conversation(table) as watcher,
    ):
        cases = [
            (player, {"move": {"type": "stand"}, "version": view["version"]}, "must-roll-first"),
            (player, {"move": {"type": "roll"}, "version": 1}, "stale-version"),
            (player, {"move": {"type": "roll"}}, "version-missing"),
            (player, {"move": {"type": "fly"}, "version": view["version"]}, "malformed-request"),
            (player, {"move": {"type": "roll"}, "extra": 1}, "malformed-request"),
            (other, {"move": {"type": "roll"}, "version": view["version"]}, "not-your-turn"),
            (watcher, {"move": {"type": "roll"}, "version": view["version"]}, "unauthenticated"),
        ]
        for number, (socket, message, code) in enumerate(cases):
            await socket.send(type="move", key=f"c{number}", **message)
            problem = (await socket.next("problem"))["data"]
            assert (problem["key"], problem["problem"]["code"]) == (f"c{number}", code)
        await player.connection.send("{")
        assert (await player.next("problem"))["data"]["key"] is None
        await player.connection.send(
            '{"type":"move","key":"k","version":1,"version":2,"move":{"type":"roll"}}'
        )
        problem = (await player.next("problem"))["data"]["problem"]
        assert (problem["code"], "'version' stands twice" in problem["detail"]) == ("malformed-request", True)
        await player.send(type="move", key="no spaces please", version=1, move={"type": "roll"})
        assert (await player.next("problem"))["data"]["problem"]["code"] == "idempotency-key-malformed"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("{", "malformed-request"),
        ('{"type":"move","key":"x","move":{"type":"roll"}}', "malformed-request"),
        ('{"type":"hello","token":"no.such.token"}', "unauthenticated"),
        ('{"type":"hello","after":"x"}', "malformed-request"),
    ],
)
async def test_who_does_not_say_hello_is_told_why_and_goes(table, first, code):
    async with connect(table.address, proxy=None) as connection:
        await connection.send(first)
        frame = json.loads(await connection.recv())
        assert (frame["event"], frame["data"]["problem"]["code"]) == ("problem", code)
        with pytest.raises(ConnectionClosed) as closed:
            await connection.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


async def test_a_match_that_is_not_there(table):
    address = table.address.replace(table.match, "m_nothing")
    async with connect(address, proxy=None) as connection:
        await connection.send('{"type":"hello"}')
        assert json.loads(await connection.recv())["data"]["problem"]["code"] == "not-found"


async def test_it_goes_on_after_a_version(table):
    view = await table.view()
    async with conversation(table, after=1) as watcher:
        assert (await watcher.next())["data"]["version"] == 1
        versions = [(await watcher.next())["id"] for _ in range(view["version"] - 1)]
        assert versions == list(range(2, view["version"] + 1))


async def test_a_message_that_is_too_large_ends_the_connection(table):
    async with conversation(table) as watcher:
        await watcher.next("snapshot")
        await watcher.connection.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            await watcher.next("never")


async def test_it_ends_when_the_service_stops(table):
    async with conversation(table, table.tokens[0]) as player:
        await player.next("snapshot")
        table.site.platform.stopping.set()
        with pytest.raises(ConnectionClosed) as closed:
            await player.next("never")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012


async def roll(player, key, version):
    """Roll, and return the answer."""
    await player.send(type="move", key=key, version=version, move={"type": "roll"})
    frame = await player.next("answer", "problem")
    assert frame["event"] == "answer", frame
    return frame["data"]["answer"]


async def heard(socket, after, version):
    """Return what a socket is told up to a version, answers left out: every event once, in order."""
    events = []
    while after < version:
        frame = await socket.next()
        if frame["event"] not in {"answer", "keep-alive"}:
            assert frame["id"] == after + 1
            after = frame["id"]
            events.append(frame["data"])
    return events


async def test_what_this_process_commits_is_told_to_all_and_read_by_nobody(database, monkeypatch):
    async with served(database, [engine.service, lobby], bots=False) as site:
        table = await start(site, "dice-race", chips_to_win=20)
        view = await table.view()
        begun, turn = view["version"], view["turn"]
        async with (
            conversation(table, table.tokens[0]) as one,
            conversation(table, table.tokens[1]) as other,
            conversation(table) as watcher,
            stream_of(site.url, f"/v1/matches/{table.match}/stream") as stream,
        ):
            for each in (one, other, watcher):
                assert (await each.next())["event"] == "snapshot"
            assert (await stream.next())[0] == "snapshot"
            await asyncio.sleep(0.3)  # until all have looked whether there is more
            reads = []
            read = EventLog.read_stream

            async def counted(self, stream, *more, **named):
                reads.append(stream)
                return await read(self, stream, *more, **named)

            monkeypatch.setattr(EventLog, "read_stream", counted)
            version, told = begun, []
            for number in range(20):
                mover = (one, other)[turn]
                answer = await roll(mover, f"r{number}", version)
                told += answer["events"]
                version, turn = answer["version"], answer["turn"]
            # Those of the mover came behind the answer, and one socket's were passed over on the way to the next.
            assert await heard(watcher, begun, version) == told
            assert [(await stream.next())[2] for _ in told] == told
            assert table.match not in reads
        await table.http.aclose()


async def test_the_answer_comes_before_the_events_that_it_tells_of(table):
    view = await table.view()
    async with conversation(table, table.tokens[view["turn"]]) as player:
        await player.next("snapshot")
        await player.send(type="move", key="first", version=view["version"], move={"type": "roll"})
        answer = await player.next()
        assert answer["event"] == "answer"
        events = answer["data"]["answer"]["events"]
        assert [(await player.next())["data"] for _ in events] == events


async def test_nobody_is_handed_what_is_hidden_from_them(database):
    async with served(database, [engine.service, lobby], bots=False) as site:
        table = await start(site, "cards-places")
        view = await table.view()
        async with (
            conversation(table, table.tokens[0]) as one,
            conversation(table, table.tokens[1]) as other,
            conversation(table) as watcher,
        ):
            everybody = {0: one, 1: other, None: watcher}
            for each in everybody.values():
                await each.next("snapshot")
            differed = 0
            for number in range(25):
                before, turn = view["version"], view["turn"]
                legal = (await table.view(turn))["legal"]
                wanted = next((move for move in legal if move["type"] == "draw"), legal[0])
                await everybody[turn].send(type="move", key=f"c{number}", version=before, move=wanted)
                view = await table.view()
                while view["version"] == before:
                    view = await table.view()
                if view["status"] != "running":
                    break
                seen = {}
                for seat, socket in everybody.items():
                    seen[seat] = await heard(socket, before, view["version"])
                    assert seen[seat] == await table.events(before, seat)
                differed += seen[0] != seen[1]
            assert differed  # cards were drawn that only one may see
        await table.http.aclose()


def pushing_never(monkeypatch):
    monkeypatch.setattr(SocketProtocol, "push", lambda _self, _frame: False)


def pushing_now_and_then(monkeypatch):
    calls, push = itertools.count(), SocketProtocol.push
    monkeypatch.setattr(
        SocketProtocol, "push", lambda self, frame: next(calls) % 2 == 0 and push(self, frame)
    )


def all_are_a_crowd(monkeypatch):
    monkeypatch.setattr(sockets, "AT_ONCE_MAX", 0)


def handing_over_fails(monkeypatch):
    def broken(_self, _news):
        raise ValueError("not today")

    monkeypatch.setattr(MatchSource, "frames_of", broken)


def nothing_is_handed_over(monkeypatch):
    monkeypatch.setattr(MatchSource, "frames_of", lambda _self, _news: ())


@pytest.mark.parametrize(
    "way", [pushing_never, pushing_now_and_then, all_are_a_crowd, handing_over_fails, nothing_is_handed_over]
)
async def test_whichever_way_it_comes_nothing_is_missed(table, monkeypatch, way):
    way(monkeypatch)
    view = await table.view()
    async with (
        conversation(table, table.tokens[view["turn"]]) as player,
        conversation(table) as watcher,
    ):
        for each in (player, watcher):
            await each.next("snapshot")
        told = []
        version, turn = view["version"], view["turn"]
        while turn == view["turn"]:
            answer = await roll(player, f"m{version}", version)
            told += answer["events"]
            version, turn = answer["version"], answer["turn"]
        assert await heard(watcher, view["version"], version) == told


async def test_who_has_fallen_far_behind_starts_anew(table, monkeypatch):
    monkeypatch.setattr(sockets, "BEHIND_MAX", 1)
    view = await table.view()
    async with conversation(table) as watcher:
        await watcher.next("snapshot")
        (slow,) = [
            one for one in table.site.server.server_state.connections if isinstance(one, SocketProtocol)
        ]
        slow.pause_writing()
        async with conversation(table, table.tokens[view["turn"]]) as player:
            await player.next("snapshot")
            version, turn = view["version"], view["turn"]
            while turn == view["turn"]:
                answer = await roll(player, f"f{version}", version)
                version, turn = answer["version"], answer["turn"]
        await asyncio.sleep(0.1)
        slow.resume_writing()
        frames = [await watcher.next()]
        while frames[-1]["event"] != "snapshot":
            frames.append(await watcher.next())
        assert frames[-2]["event"] == "resync"
        assert frames[-1]["data"]["version"] == version


async def test_moves_of_several_processes_reach_the_followers_of_each(database, redis_url):
    factories = [engine.service, lobby]
    async with (
        served(database, factories, redis_url, bots=False) as here,
        served(database, factories, redis_url, bots=False) as there,
    ):
        table = await start(here, "dice-race", chips_to_win=20)
        far = Table(there, table.tokens, table.match)
        view = await table.view()
        begun, turn = view["version"], view["turn"]
        async with (
            conversation(table, table.tokens[0]) as one,
            conversation(far, table.tokens[1]) as other,
            conversation(table) as watcher,
            conversation(far) as far_watcher,
        ):
            for each in (one, other, watcher, far_watcher):
                await each.next("snapshot")
            version, told = begun, []
            for number in range(20):
                answer = await roll((one, other)[turn], f"r{number}", version)
                told += answer["events"]
                version, turn = answer["version"], answer["turn"]
            assert await heard(watcher, begun, version) == told
            assert await heard(far_watcher, begun, version) == told
        await table.http.aclose()
        await far.http.aclose()
