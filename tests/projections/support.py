"""What tests of projections share: an app over a story's log, the bytes of tables, a reader of event streams."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from services.projections.app import service
from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.http import Projections
from services.projections.leaderboards.rater import Rater
from services.projections.leaderboards.tables import Leaderboards
from services.projections.records.tables import Records
from services.runtime.log import Append, Appended
from services.runtime.players import Player
from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from services.runtime.web.request import PLATFORM, PROVIDED
from tests.projections.stories import player

PROJECTIONS = (Board(), Leaderboards(), History(), Records())
DEADLINE_SECONDS = 20


async def contents(connection, projection) -> bytes:
    """Return every byte of a projection's tables, in the order of their keys."""
    out = io.BytesIO()
    for table, order in projection.TABLES.items():
        out.write(f"{table}\n".encode())
        query = projection.sql(f"SELECT * FROM {{schema}}.{table} ORDER BY {order}")
        await connection.copy_from_query(query, output=out)
    return out.getvalue()


async def feed(connection, projection, records, sizes):
    """Apply records in batches of the sizes that ``sizes`` yields."""
    at = 0
    while at < len(records):
        size = next(sizes)
        async with connection.transaction():
            await projection.apply(connection, records[at : at + size])
        at += size


def always(size):
    while True:
        yield size


def sizes_of(random):
    while True:
        yield random.choice([1, 2, 3, 5, 8, 40, 200])


async def eventually(condition) -> None:
    """Wait until an asynchronous condition holds."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await condition():
            await asyncio.sleep(0.01)


def settings_of(database, **fields):
    key = base64.urlsafe_b64encode(bytes(32)).decode()
    return Settings(**{"database_url": database, "secret_key": key, "poll_seconds": 0.05, **fields})


async def append_to(log, commands) -> None:
    """Append commands of a story to a log. The outcome is as good when a broken connection made it a repetition."""
    for head, events in commands:
        outcome = await log.append(
            Append(
                stream=events[0].stream, kind=events[0].stream[0], expected=head, events=tuple(events),
                command=events[0].command, request_hash=bytes(32), answer=b"{}",
            )
        )  # fmt: skip
        assert isinstance(outcome, Appended), outcome


class Running:
    """The projections' app while it is open."""

    def __init__(self, app) -> None:
        self.app = app
        self.platform = app.state[PLATFORM]
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://projections")
        self.projections = app.state[PROVIDED][Projections].all

    async def tell(self, commands) -> None:
        """Append commands of a story to the log."""
        await append_to(self.platform.log, commands)

    async def name(self, *numbers: int) -> None:
        """Give players names: p1, p2 …"""
        async with self.platform.database.pool.acquire() as connection:
            for number in numbers:
                await self.platform.players.create(connection, Player(player(number), f"p{number}", "guest"))

    async def caught_up(self) -> int:
        """Wait until every projection has worked off the whole log, ratings included; return its end."""
        rater = Rater(next(one for one in self.projections if isinstance(one, Leaderboards)))
        head = 0

        async def all_there() -> bool:
            nonlocal head
            head = await self.platform.log.head_position()
            if min(await self.positions()) < head:
                return False
            async with self.platform.database.pool.acquire() as connection:
                return not await rater.games(connection)

        await eventually(all_there)
        return head

    async def positions(self) -> list[int]:
        rows = await self.platform.database.pool.fetch(
            "SELECT name, position FROM macao_log.subscriptions WHERE name = ANY($1)",
            [projection.NAME for projection in self.projections],
        )
        found = {row["name"]: row["position"] for row in rows}
        return [found.get(projection.NAME, 0) for projection in self.projections]

    def token(self, who: str, *scopes: str) -> dict[str, str]:
        """Return the header with which a player asks."""
        return {
            "Authorization": f"Bearer {self.platform.tokens.access_token(who, frozenset(scopes or ('play',)))}"
        }

    async def get(self, path, **kwargs):
        return await self.client.get(path, **kwargs)

    async def contents(self) -> bytes:
        """Return the bytes of all projections."""
        async with self.platform.database.pool.acquire() as connection:
            return b"".join([await contents(connection, projection) for projection in self.projections])

    @asynccontextmanager
    async def stream(self, path="/v1/lobby/stream", headers=None) -> AsyncIterator[EventReader]:
        """Follow an event stream."""
        reader = EventReader(self.app, path, headers or {})
        try:
            yield reader
        finally:
            await reader.close()


@asynccontextmanager
async def running(database, **fields) -> AsyncIterator[Running]:
    """Open the app over a database; ``fields`` are settings."""
    app = create_app(settings_of(database, **fields), [service])
    opened, closing = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        # Opened and closed by one task, whichever tasks a fixture is set up and torn down in.
        async with app.lifespan():
            opened.set()
            await closing.wait()

    holder = asyncio.create_task(hold())
    await asyncio.wait({holder, asyncio.ensure_future(opened.wait())}, return_when=asyncio.FIRST_COMPLETED)
    if holder.done():
        await holder
    here = Running(app)
    try:
        yield here
    finally:
        await here.client.aclose()
        closing.set()
        await holder


class EventReader:
    """Reads server-sent events straight from the app, as they are sent."""

    def __init__(self, app, path, headers) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1), "server": ("projections", 80), "state": {},
        }  # fmt: skip
        self._gone = asyncio.Event()
        self._sent: asyncio.Queue[dict] = asyncio.Queue()
        self._buffer = b""
        self._task = asyncio.create_task(app(scope, self._receive, self._sent.put))

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def next(self, seconds=5.0):
        """Return the next event: (event, id, data)."""
        async with asyncio.timeout(seconds):
            while True:
                frame, found, rest = self._buffer.partition(b"\n\n")
                if not found:
                    self._buffer += (await self._sent.get()).get("body", b"")
                    continue
                self._buffer = rest
                fields = dict(line.split(": ", 1) for line in frame.decode().splitlines())
                if "event" in fields:
                    return fields["event"], int(fields["id"]), json.loads(fields["data"])

    async def close(self) -> None:
        self._gone.set()
        async with asyncio.timeout(5):
            await self._task
