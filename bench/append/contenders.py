"""The ways to write an event that are compared. Each is a crowd of callers that write one event after another.

A contender opens what it needs for so many callers and gives a function that writes one event for one of them.
Opening is not measured. All of them write the same events from the same process, and every write is committed, with
``synchronous_commit`` on, before its caller goes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeAlias

import asyncpg
from asyncpg import Connection

from services.contracts.envelope import Draft, Head, chain
from services.runtime.database import Database
from services.runtime.log import Append, Appended, EventLog, codec
from services.runtime.settings import Settings

Write: TypeAlias = Callable[[int], Awaitable[None]]
Contender: TypeAlias = Callable[[str, int], "Any"]

ACTOR: Final = "p_01KB9YABCDEFGHJKMNPQRSTVWX"
AT_MS: Final = 1_764_470_000_000
BODY: Final = (
    b'{"type":"rolled","seat":1,"draw":{"kind":"dice","round":3,"op":12,"count":2,"result":[4,6]},"total":31}'
)
CAUSE: Final = b'{"type":"roll"}'
ANSWER: Final = b'{"version":12,"events":["rolled"]}'
REQUEST: Final = bytes(range(32))

PLAIN_TABLE: Final = """
CREATE TABLE IF NOT EXISTS public.plain_events (
    position    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version     bigint NOT NULL,
    at_ms       bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    schema      integer NOT NULL,
    stream      text NOT NULL,
    type        text NOT NULL,
    actor       text NOT NULL,
    command     text NOT NULL,
    previous    bytea NOT NULL,
    hash        bytea NOT NULL,
    cause       bytea,
    body        bytea NOT NULL
)
"""
PLAIN_INSERT: Final = (
    "INSERT INTO public.plain_events "
    "(version, at_ms, schema, stream, type, actor, command, previous, hash, cause, body) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
)


class _Match:
    """One caller's stream."""

    def __init__(self) -> None:
        self.id = f"m_{os.urandom(13).hex()}"
        self._head = Head()
        self._commands = 0

    def next(self) -> Append:
        """Return the next append, as if the one before had been committed."""
        self._commands += 1
        command = f"c_{self.id[2:18]}{self._commands:010}"
        before = self._head
        events = chain(
            before,
            [Draft("rolled", 1, BODY)],
            stream=self.id,
            actor=ACTOR,
            command=command,
            at_ms=AT_MS,
            cause=CAUSE,
        )
        self._head = events[-1].head
        return Append(self.id, "m", before, tuple(events), command, REQUEST, ANSWER)


@asynccontextmanager
async def coalescer(database_url: str, callers: int) -> AsyncIterator[Write]:
    """Open the event log as the service does: all callers share one writer."""
    matches = [_Match() for _ in range(callers)]
    settings = Settings(database_url=database_url, secret_key="-")
    async with Database(settings) as database, EventLog(database) as log:

        async def write(caller: int) -> None:
            outcome = await log.append(matches[caller].next())
            if type(outcome) is not Appended:
                raise RuntimeError(f"the log answered {outcome}")

        yield write


@asynccontextmanager
async def one_by_one(database_url: str, callers: int) -> AsyncIterator[Write]:
    """Open a connection for each caller; each calls ``append_many`` with one item."""
    matches = [_Match() for _ in range(callers)]
    numbers = ", ".join(f"${number}" for number in range(1, codec.ARGUMENTS + 1))
    async with _connections(database_url, callers) as connections:
        statements = [
            await one.prepare(f"SELECT * FROM macao_log.append_many({numbers})") for one in connections
        ]

        async def write(caller: int) -> None:
            rows = await statements[caller].fetch(*codec.to_arguments([matches[caller].next()]))
            if rows[0][1] != "appended":
                raise RuntimeError(f"the log answered {rows[0]}")

        yield write


@asynccontextmanager
async def plain(database_url: str, callers: int) -> AsyncIterator[Write]:
    """Open a connection for each caller; each inserts one row: no order, no streams, no idempotency, one index."""
    matches = [_Match() for _ in range(callers)]
    async with _connections(database_url, callers) as connections:
        await connections[0].execute(PLAIN_TABLE)
        statements = [await one.prepare(PLAIN_INSERT) for one in connections]

        async def write(caller: int) -> None:
            event = matches[caller].next().events[0]
            await statements[caller].fetch(
                event.version, event.at_ms, event.schema, event.stream, event.type, event.actor, event.command,
                event.previous, event.hash, event.cause, event.body,
            )  # fmt: skip

        yield write


CONTENDERS: Final[Mapping[str, Contender]] = {
    "coalescer": coalescer,
    "one by one": one_by_one,
    "plain INSERT": plain,
}


@asynccontextmanager
async def _connections(database_url: str, count: int) -> AsyncIterator[list[Connection[Any]]]:
    async with AsyncExitStack() as stack:
        connections: list[Connection[Any]] = []
        for _ in range(count):
            connection = await asyncpg.connect(database_url)
            stack.push_async_callback(connection.close)
            connections.append(connection)
        yield connections


async def measure(contender: Contender, database_url: str, callers: int, seconds: float) -> float:
    """Let the callers write for so long, and return the events a second."""
    async with contender(database_url, callers) as write:
        for _ in range(WARM_UP):
            await asyncio.gather(*(write(caller) for caller in range(callers)))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        end = begun + seconds

        async def call(caller: int) -> int:
            written = 0
            while loop.time() < end:
                await write(caller)
                written += 1
            return written

        counts = await asyncio.gather(*(call(caller) for caller in range(callers)))
        return sum(counts) / (loop.time() - begun)


WARM_UP: Final = 20
"""Rounds before the clock runs, so that statements are planned and pages are there."""
