"""Game servers of other people, and what is played at them: boardgame.io and Colyseus, where Node.js is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from bench.move.crowd import Pace, paced
from bench.move.tables import BoardgameTable, ColyseusTable, OurTable, Table, Tables
from bench.node import Node
from bench.serving.rehearsed import Stage
from bench.serving.servers import Process, Servers, running
from services.cli.embedded.ports import free_port

PROJECT: Final = Path(__file__).parent / "others"
SOCKET_IO: Final = "koa-socket-2/node_modules/socket.io"
VERSIONS: Final = ("boardgame.io", SOCKET_IO, "@colyseus/core", "@colyseus/ws-transport", "ws")
RIVALS: Final = {
    "boardgame": "boardgame.io, in memory, socket.io",
    "colyseus": "Colyseus, a room a match, WebSocket",
}
SOCKET: Final = "dice-race, WebSocket"

BOARDGAME_SEATS: Final = 4
"""As many as sit at our tables over HTTP."""
SOCKET_SEATS: Final = 2
"""Each with a connection, at our tables and in Colyseus's rooms."""
MOVES_MIN: Final = 24
"""No race of four to three chips is shorter: three rounds, and two moves each."""
LONG: Final = {"chips_to_win": 20}
"""So our matches last for some hundred moves, and few more tables than clients have to be open."""
LEFT_MAX: Final = 400
"""Moves that a client may have left of its last match."""
AT_A_TIME: Final = 8

T = TypeVar("T")


def rival(ready: Servers, kind: str, node: Node) -> AbstractContextManager[Process]:
    """Run one of them."""
    port = free_port()
    command = [str(node.node), str(PROJECT / f"{kind}.cjs"), str(port)]
    return running(command, node.environment, port, ready.directory / f"{kind}.log")


async def at_rival(process: Process, kind: str, clients: int, moves: int) -> Pace:
    """Let clients play at one of them: one match each at a time."""
    if kind == "boardgame":
        count = clients + moves // MOVES_MIN + 1
        tables: Sequence[Table] = await _some(
            [lambda: BoardgameTable.of(process.port, BOARDGAME_SEATS)] * count
        )
    else:
        tables = await _some([lambda: ColyseusTable.of(process.port, SOCKET_SEATS)] * clients)
    return await _paced(process, None, tables, clients, moves)


async def over_sockets(
    process: Process, postgres_pid: int | None, stage: Stage, clients: int, moves: int
) -> Pace:
    """Let clients play at our tables over WebSockets: one match each at a time."""
    made = await stage.matches("dice-race", SOCKET_SEATS, moves + clients * LEFT_MAX, LONG)
    tables = await _some([partial(OurTable.of, process.port, match) for match in made])
    return await _paced(process, postgres_pid, tables, clients, moves)


async def _paced(
    process: Process, postgres_pid: int | None, tables: Sequence[Table], clients: int, moves: int
) -> Pace:
    ready = Tables(tables)
    try:
        return await paced(process, postgres_pid, [ready.mover() for _ in range(clients)], moves)
    finally:
        ready.close()


async def _some(makers: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Make all of them, a few at a time."""
    made: list[T] = []
    for at in range(0, len(makers), AT_A_TIME):
        made += await asyncio.gather(*(make() for make in makers[at : at + AT_A_TIME]))
    return made
