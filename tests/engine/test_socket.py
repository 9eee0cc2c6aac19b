"""A match over a WebSocket, against a real server: the frames of the stream, and moves on the same connection."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from services.engine import app as engine
from services.lobby.app import service as lobby
from tests.http.serving import served


class Table:
    """A running match of two guests at a served engine and lobby."""

    def __init__(self, site, tokens, match):
        self.site, self.tokens, self.match = site, tokens, match
        self.address = f"ws://127.0.0.1:{site.port}/v1/matches/{match}/socket"
        self.http = httpx.AsyncClient(base_url=site.url)

    async def view(self):
        return (await self.http.get(f"/v1/matches/{self.match}")).json()


@pytest_asyncio.fixture(loop_scope="session")
async def table(database):
    async with served(database, [engine.service, lobby], bots=False) as site:
        async with httpx.AsyncClient(base_url=site.url) as http:
            tokens = [
                (await http.post("/v1/players", json={"name": name})).json()["token"]
                for name in ("Anna", "Bela")
            ]
            headers = [{"Authorization": f"Bearer {token}", "Idempotency-Key": "k"} for token in tokens]
            opened = await http.post("/v1/tables", json={"game": "dice-race", "seats": 2}, headers=headers[0])
            path = f"/v1/tables/{opened.json()['id']}"
            assert (await http.post(f"{path}/join", json={}, headers=headers[1])).is_success
            started = await http.post(f"{path}/start", headers={**headers[0], "Idempotency-Key": "s"})
            table = Table(site, tokens, started.json()["match_id"])
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
