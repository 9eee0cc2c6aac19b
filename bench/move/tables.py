"""Tables at which moves go over WebSockets: ours, boardgame.io's and Colyseus's, each in its own words.

All three have the same driver, in this process: it sends a move, waits for what the server says of it to the one who
moved, and sends the next. What it has to work out costs it a few microseconds: our moves are known beforehand; of the
others' answers it reads whose turn it is, and rolls below six.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections import deque
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct, field

from bench.serving.rehearsed import Rehearsed
from bench.serving.websocket_client import BINARY, WebSocket, framed

STAND_FROM: Final = 6
PING_OF_SOCKET_IO, PONG_OF_SOCKET_IO = b"2", framed(b"3")
JOINED_OF_COLYSEUS: Final = b"\x0a"
ROLL_TO_COLYSEUS: Final = framed(b"\x0d\xa4move\x81\xa4type\xa4roll", BINARY)
STAND_TO_COLYSEUS: Final = framed(b"\x0d\xa4move\x81\xa4type\xa5stand", BINARY)


class Table(Protocol):
    """A match with everybody connected."""

    @property
    def over(self) -> bool:
        """Whether there is no move left."""

    async def move(self) -> None:
        """Make the next move, and wait for the answer."""

    def close(self) -> None:
        """Let everybody go."""


class Tables:
    """Tables that clients play at, one after another each."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._all = list(tables)
        self._free = deque(self._all)

    def mover(self) -> TableMover:
        """Return a client, which has taken a table."""
        return TableMover(self._free)

    def close(self) -> None:
        """Close all of them."""
        for table in self._all:
            table.close()


class TableMover:
    """A client that goes to the next table when its match is over."""

    def __init__(self, free: deque[Table]) -> None:
        self._free = free
        self._table = free.popleft()

    async def __call__(self) -> None:
        """Make a move."""
        if self._table.over:
            self._table = self._free.popleft()
        await self._table.move()


# Ours


class OurTable:
    """A match of ours that was rehearsed: every seat has a connection, and hears of every event."""

    def __init__(self, match: Rehearsed, sockets: list[WebSocket]) -> None:
        self._sockets = sockets
        self._moves = deque(zip(match.seats, map(framed, match.messages), strict=True))

    @classmethod
    async def of(cls, port: int, match: Rehearsed) -> OurTable:
        """Connect everybody."""
        sockets = []
        for token in match.tokens:
            socket = await WebSocket.to(
                port, f"/v1/matches/{match.match}/socket", b'{"event":"answer"', (b'{"event":"problem"',),
                headers={"Authorization": f"Bearer {token}"},
            )  # fmt: skip
            sockets.append(socket)
        return cls(match, sockets)

    @property
    def over(self) -> bool:
        """Whether all of it was sent."""
        return not self._moves

    async def move(self) -> None:
        """Send the next move on its player's connection."""
        seat, frame = self._moves.popleft()
        await self._sockets[seat].ask(frame)

    def close(self) -> None:
        """Hang up."""
        for socket in self._sockets:
            socket.close()


# boardgame.io


class _Race(Struct):
    total: int


class _Context(Struct):
    current: str = field(name="currentPlayer")
    gameover: Any = None


class _State(Struct):
    race: _Race = field(name="G")
    context: _Context = field(name="ctx")
    number: int = field(name="_stateID")


_update: Final = msgspec.json.Decoder(tuple[str, str, _State, Any]).decode
_UPDATE: Final = b'42/race,["update"'


class BoardgameTable:
    """A match at boardgame.io's server: one connection that knows everybody's credentials, and nobody else listens."""

    def __init__(self, match: str, credentials: list[str], socket: WebSocket) -> None:
        self._socket = socket
        self._match = match.encode()
        self._credentials = [one.encode() for one in credentials]
        self._turn, self._total, self._number = 0, 0, 0
        self.over = False

    @classmethod
    async def of(cls, port: int, seats: int) -> BoardgameTable:
        """Make a match by its lobby, let everybody join, and connect the first player."""
        games = f"http://127.0.0.1:{port}/games/race"
        match = (await _posted(f"{games}/create", {"numPlayers": seats}))["matchID"]
        credentials = []
        for seat in range(seats):
            joined = await _posted(f"{games}/{match}/join", {"playerID": str(seat), "playerName": f"p{seat}"})
            credentials.append(joined["playerCredentials"])
        socket = await WebSocket.to(
            port, "/socket.io/?EIO=4&transport=websocket", b"40/race", (b"44",),
            reply=lambda payload: PONG_OF_SOCKET_IO if payload == PING_OF_SOCKET_IO else None,
        )  # fmt: skip
        await socket.ask(framed(b"40/race,"))
        socket.answers = b'42/race,["sync"'
        sync = msgspec.json.encode(["sync", match, "0", credentials[0], seats])
        await socket.ask(framed(b"42/race," + sync))
        socket.answers = _UPDATE
        return cls(match, credentials, socket)

    async def move(self) -> None:
        """Roll, or stand."""
        kind, seat = (b"stand" if self._total >= STAND_FROM else b"roll"), self._turn
        message = (
            b'42/race,["update",{"type":"MAKE_MOVE","payload":{"type":"%b","args":[],"playerID":"%d","credentials":"%b"}},'
            b'%d,"%b","%d"]'
        ) % (kind, seat, self._credentials[seat], self._number, self._match, seat)
        answer = await self._socket.ask(framed(message))
        state = _update(answer[len(b"42/race,") :])[2]
        if state.number != self._number + 1:
            raise ValueError(f"boardgame.io made state {state.number} of state {self._number}")
        self._number, self._total = state.number, state.race.total
        self._turn = int(state.context.current)
        self.over = state.context.gameover is not None

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


# Colyseus


class _Moved(Struct):
    turn: int
    total: int


_moved: Final = msgspec.msgpack.Decoder(_Moved).decode
_ANSWER: Final = b"\x0d\xa6answer"


class ColyseusTable:
    """A room of Colyseus: every seat has a connection, and hears of every move. One race follows another in it."""

    over = False

    def __init__(self, sockets: list[WebSocket]) -> None:
        self._sockets = sockets
        self._turn, self._total = 0, 0

    @classmethod
    async def of(cls, port: int, seats: int) -> ColyseusTable:
        """Make a room, and join it with everybody."""
        asked = f"http://127.0.0.1:{port}/matchmake"
        seat = await _posted(f"{asked}/create/race", {"seats": seats})
        sockets = [await cls._joined(port, seat)]
        for _ in range(1, seats):
            seat = await _posted(f"{asked}/joinById/{seat['roomId']}", {})
            sockets.append(await cls._joined(port, seat))
        return cls(sockets)

    @staticmethod
    async def _joined(port: int, seat: dict[str, Any]) -> WebSocket:
        path = f"/{seat['processId']}/{seat['roomId']}?sessionId={seat['sessionId']}"
        answers = asyncio.get_running_loop().create_future()

        def joined(payload: bytes) -> bytes | None:
            if not payload.startswith(JOINED_OF_COLYSEUS):
                return None
            if not answers.done():
                answers.set_result(None)
            return framed(JOINED_OF_COLYSEUS, BINARY)

        socket = await WebSocket.to(port, path, _ANSWER, (b"\x0b", b"\x0d\xa7refused"), joined)
        await answers
        return socket

    async def move(self) -> None:
        """Roll, or stand."""
        frame = STAND_TO_COLYSEUS if self._total >= STAND_FROM else ROLL_TO_COLYSEUS
        answer = _moved((await self._sockets[self._turn].ask(frame))[len(_ANSWER) :])
        self._turn, self._total = answer.turn, answer.total

    def close(self) -> None:
        """Leave."""
        for socket in self._sockets:
            socket.close()


async def _posted(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send JSON, not in a hurry, and return what is answered."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )

    def ask() -> dict[str, Any]:
        with urllib.request.urlopen(request, timeout=10) as answer:
            told: dict[str, Any] = json.load(answer)
            return told

    return await asyncio.to_thread(ask)
