"""The floor: a bare Litestar endpoint that validates a body and does one INSERT through a pool.

``python -m bench.move.floor PORT KIND`` serves it under the same server as the service. KIND says how rows get to
PostgreSQL: ``pool`` is asyncpg's pool as it comes, ``unreset`` is the same without the reset of a connection that is
returned (a round trip of its own), ``gathered`` sends what waits as one statement.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

import asyncpg
import uvicorn
from litestar import Litestar, post
from litestar.datastructures import State
from litestar.params import JSONBody
from msgspec import Meta, Struct

POOL_MAX: Final = 16
TABLE: Final = """
CREATE TABLE IF NOT EXISTS public.floor_moves (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    match       text NOT NULL,
    kind        text NOT NULL,
    amount      integer
)
"""
INSERT: Final = "INSERT INTO public.floor_moves (match, kind, amount) VALUES ($1, $2, $3) RETURNING id"
INSERT_MANY: Final = (
    "INSERT INTO public.floor_moves (match, kind, amount) "
    "SELECT * FROM unnest($1::text[], $2::text[], $3::integer[]) RETURNING id"
)


class Move(Struct, frozen=True, forbid_unknown_fields=True):
    """What is validated."""

    type: Annotated[str, Meta(max_length=40)]
    amount: int | None = None


class MoveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The body."""

    move: Move


class Moved(Struct, frozen=True):
    """The answer."""

    id: int


class Gathering:
    """Sends the rows that wait as one statement, one at a time: what is there when it is free."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._waiting: list[tuple[tuple[str, str, int | None], asyncio.Future[int]]] = []
        self._busy = False

    def insert(self, row: tuple[str, str, int | None]) -> asyncio.Future[int]:
        """Have a row inserted, and return its future number."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, future))
        if not self._busy:
            self._busy = True
            self._task = asyncio.create_task(self._send())
        return future

    async def _send(self) -> None:
        async with self._pool.acquire() as connection:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                columns = [list(column) for column in zip(*(row for row, _ in batch), strict=True)]
                for (_, future), record in zip(
                    batch, await connection.fetch(INSERT_MANY, *columns), strict=True
                ):
                    future.set_result(record[0])
            self._busy = False  # before the connection goes back: that may let others run


@post("/matches/{match_id:str}/moves", status_code=200)
async def move(match_id: str, data: JSONBody[MoveRequest], state: State) -> Moved:
    """Insert a row."""
    row = (match_id, data.move.type, data.move.amount)
    if state.gathering is not None:
        return Moved(await state.gathering.insert(row))
    return Moved(await state.pool.fetchval(INSERT, *row))


def app(database_url: str, kind: str) -> Litestar:
    """Return the application."""

    async def untouched(_connection: Any) -> None:
        """Leave a returned connection as it is."""

    @asynccontextmanager
    async def lifespan(started: Litestar) -> AsyncIterator[None]:
        more = {} if kind == "pool" else {"reset": untouched}
        async with asyncpg.create_pool(database_url, min_size=POOL_MAX, max_size=POOL_MAX, **more) as pool:
            await pool.execute(TABLE)
            started.state.pool = pool
            started.state.gathering = Gathering(pool) if kind == "gathered" else None
            yield

    return Litestar([move], lifespan=[lifespan], openapi_config=None, logging_config=None)


def main() -> None:
    """Serve until SIGTERM."""
    port, kind = int(sys.argv[1]), sys.argv[2]
    uvicorn.run(
        app(os.environ["MACAO_DATABASE_URL"], kind),
        host="127.0.0.1", port=port, loop="uvloop", http="httptools", lifespan="on", interface="asgi3",
        log_config=None, access_log=False, server_header=False, proxy_headers=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
