"""A small service for the tests of the web layer."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import asyncpg
from litestar import Router, get, post
from litestar.params import FromPath, JSONBody, Parameter
from msgspec import Meta, Struct

from services.contracts.envelope import Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.table import HostPassed
from services.contracts.ids import TABLE
from services.runtime.log import Append, Appended, EventLog
from services.runtime.platform import Platform
from services.runtime.service import Service
from services.runtime.web import Body, Problem, Request, needs
from services.runtime.web.frames import Frame
from services.runtime.web.streams import EventStream, event_stream, frame


class Thing(Body, frozen=True):
    seat: Annotated[int, Meta(ge=0, le=9)]
    kind: str = "plain"


class Shown(Struct, frozen=True):
    seat: int
    kind: str
    thing: str


class Boom:
    """What `/v1/boom` raises next."""

    error: Exception = KeyError("hunter2")


@post("/things/{thing:str}", status_code=200)
async def make(thing: FromPath[str], data: JSONBody[Thing]) -> Shown:
    return Shown(data.seat, data.kind, thing)


@get("/things")
async def things(limit: Annotated[int, Parameter(ge=1, le=10)] = 3) -> Shown:
    return Shown(limit, "plain", "")


@get("/boom")
async def boom(request: Request) -> Shown:
    raise request.the(Boom).error


@get("/refused")
async def refused() -> Shown:
    raise Problem(
        "stake-out-of-range", "Two to five.", clause="DR-4.2", params={"min": 2, "max": 5}, legal=[{"a": 1}]
    )


@get("/whoami")
async def whoami(request: Request) -> dict[str, Any]:
    caller = await request.caller()
    return {"player": caller.player, "scopes": sorted(caller.scopes)}


@post("/guarded", guards=[needs("play")], status_code=200)
async def guarded(request: Request) -> dict[str, Any]:
    command = await request.command()
    return {"id": command.id, "hash": command.hash.hex(), "if_match": request.if_match()}


class LogSource:
    """Tells the plain events of any stream."""

    audience = ""

    def __init__(self, log: EventLog, stream: str) -> None:
        self.stream = stream
        self.reads = 0
        self._log = log

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        head = await self._log.head_of(self.stream)
        if head is None:
            raise Problem("not-found")
        version = head.version if at is None else min(at, head.version)
        return version, b'{"whole":%d}' % version

    async def frames(self, after: int) -> Sequence[Frame]:
        return [
            frame("event", item.event.version, item.event.body)
            for item in await self._log.read_stream(self.stream, after, 50)
        ]

    def frames_of(self, _news: object, /) -> Sequence[Frame]:
        return ()


@get("/follow/{stream:str}")
async def follow(
    request: Request, stream: FromPath[str], after: Annotated[int | None, Parameter(ge=0)] = None
) -> EventStream:
    return await event_stream(request, LogSource(request.platform.log, stream), after)


def demo(_: Platform) -> Service:
    router = Router("/v1", route_handlers=[make, things, boom, refused, whoami, guarded, follow])
    return Service("demo", (router,), provides=(Boom(),))


async def write(log: EventLog, stream: str, count: int) -> None:
    """Add events to a stream; any will do."""
    for _ in range(count):
        head = await log.head_of(stream) or Head()
        fact: Fact = HostPassed(f"p_{head.version + 1}")
        command = f"c_{stream}_{head.version}"
        events = chain(
            head, [draft(fact, fact, None)], stream=stream, actor="t", command=command, at_ms=1, cause=None
        )
        assert isinstance(
            await log.append(Append(stream, TABLE, head, tuple(events), command, bytes(32), b"{}")), Appended
        )


AWAY = (
    ConnectionRefusedError("10.1.2.3"),
    TimeoutError(),
    asyncpg.CannotConnectNowError("starting up"),
    asyncpg.AdminShutdownError("stop"),
    asyncpg.TooManyConnectionsError("full"),
    asyncpg.InterfaceError("pool is closing"),
    asyncio.IncompleteReadError(b"", 1),
)
