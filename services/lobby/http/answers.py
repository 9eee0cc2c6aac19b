"""What the endpoints of tables share: the order that is kept, and the table as the answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Final

from litestar import Response
from msgspec import Meta, Struct

from services.lobby.tables.clerk import Done, Plan
from services.lobby.tables.desk import Desk
from services.lobby.tables.keeper import Keeper
from services.lobby.tables.orders import Order
from services.lobby.tables.table import NO_SEED, Level
from services.lobby.tables.views import TableView, TableViews
from services.runtime.names import canonical
from services.runtime.web import reading
from services.runtime.web.bodies import Body
from services.runtime.web.conditions import etag
from services.runtime.web.idempotency import REPLAYED
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request

SEATS_MAX: Final = 64
SEED_MAX: Final = 64
NAME_PART_MIN: Final = 3
NAME_WITHIN_MIN: Final = 6
"""Shorter names stand in the middle of random seeds by chance."""

SeatNumber = Annotated[int, Meta(ge=0, lt=SEATS_MAX)]
Seed = Annotated[str, Meta(max_length=1_000, description="1 to 64 characters from A-Z a-z 0-9 _ and -")]

WRITES: Final = (
    "idempotency-key-missing",
    "idempotency-key-malformed",
    "idempotency-key-reused",
    "not-found",
)
"""How every write at a table may be refused."""


class Cause(Struct, frozen=True, omit_defaults=True):
    """What was asked for, as the table's stream keeps it; never the invitation code."""

    order: str
    seat: int | None = None
    seed: str | None = None
    player: str | None = None
    level: Level | None = None
    wanted: Body | None = None


async def act(request: Request, table: str, order: Order | Plan, cause: Cause) -> Response[TableView]:
    """Carry out an order of the caller, and answer with the table."""
    done = await carried_out(request, table, order, cause)
    return await answer(request, done, (await request.caller()).player)


async def carried_out(request: Request, table: str, order: Order | Plan, cause: Cause) -> Done:
    """Carry out an order of the caller."""
    caller = await request.caller()
    command = await request.command()
    attempt = partial(request.the(Desk).act, table, order, actor=caller.player, command=command, cause=cause)
    return await after_the_match(request, table, attempt)


async def after_the_match(request: Request, table: str, attempt: Callable[[], Awaitable[Done]]) -> Done:
    """Do something at a table. One that does not know of the end of its match yet is told of it first."""
    try:
        return await attempt()
    except Problem as problem:
        if problem.code != "match-running" or not await request.the(Keeper).hear(table):
            raise
    return await attempt()


async def answer(
    request: Request, done: Done, viewer: str, headers: dict[str, str] | None = None
) -> Response[TableView]:
    """Answer with a table as ``viewer`` may see it."""
    view = await request.the(TableViews).view(done.table, viewer)
    return Response(view, headers={**headers_of(done), **(headers or {})})


async def begin(request: Request, done: Done) -> None:
    """Begin the match of a table that somebody has filled by sitting down."""
    if done.table.state == "playing" and not done.replayed:
        await request.the(Keeper).begin_soon(done.table)


def headers_of(done: Done) -> dict[str, str]:
    """Return the headers that go with a table."""
    headers = reading.headers_of(etag(done.table.version), reading.PRIVATE)
    if done.replayed:
        headers[REPLAYED] = "true"
    return headers


async def checked_seed(request: Request, seed: str | None) -> str:
    """Return the caller's own seed, ``-`` for none.

    Raises:
        Problem: ``seed-invalid``, also for a seed that names the player: it stands in the record for ever.
    """
    if seed is None:
        return NO_SEED
    if not 1 <= len(seed) <= SEED_MAX or not all(
        one.isascii() and (one.isalnum() or one in "_-") for one in seed
    ):
        raise Problem("seed-invalid")
    player = (await request.caller()).player
    names = await request.platform.players.names_of([player])
    if player in names and _names(seed, names[player]):
        raise Problem(
            "seed-invalid",
            "The seed holds your name, and stands in the record for ever: draw one at random.",
            params={"rule": "name"},
        )
    return seed


def _names(seed: str, name: str) -> bool:
    """Say whether a seed has a word of a name as one of its words, or a longer name anywhere."""
    words = {canonical(word) for word in re.split("[_-]", seed)}
    parts = {canonical(part) for part in name.split() if len(part) >= NAME_PART_MIN}
    whole = canonical(name)
    return bool(words & (parts | {whole})) or (len(whole) >= NAME_WITHIN_MIN and whole in canonical(seed))
