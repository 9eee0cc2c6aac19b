"""Tables that play at a steady pace while somebody watches each match, and somebody the board."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

from bench.latency.cluster import Cluster

PATIENCE_SECONDS: Final = 30.0

# Long matches in short rounds: each start of a round shows on the board.
GAME: Final[dict[str, Any]] = {"game": "dice-race", "seats": 2, "options": {"chips_to_win": 9}}


class Course:
    """One run.

    Attributes:
        moves: how many were acknowledged.
        spectator_seconds: from the acknowledgement of a move to its last event at the spectator; below zero if that
            came first.
        board_seconds: the same from the move that began a round to the board.
    """

    def __init__(self, cluster: Cluster, tables: int, moves_per_second: float) -> None:
        self._cluster = cluster
        self._tables = tables
        self._pause_seconds = 1 / moves_per_second
        self._http = httpx.AsyncClient(
            timeout=PATIENCE_SECONDS,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        )
        self._keys = itertools.count(1)
        self._acknowledged: dict[tuple[str, int], float] = {}
        self._arrived: dict[tuple[str, int], float] = {}
        self._rounds: dict[tuple[str, int], float] = {}
        self._shown: dict[tuple[str, int], float] = {}
        self._watchers: list[asyncio.Task[None]] = []
        self.moves = 0

    @property
    def spectator_seconds(self) -> list[float]:
        """Delays of moves at the spectators."""
        return [self._arrived[key] - at for key, at in self._acknowledged.items() if key in self._arrived]

    @property
    def board_seconds(self) -> list[float]:
        """Delays of rounds at the board. Several rounds that the board showed as one count from the last."""
        return [self._shown[key] - at for key, at in self._rounds.items() if key in self._shown]

    @property
    def missing(self) -> int:
        """How many moves have not reached their spectator."""
        return sum(key not in self._arrived for key in self._acknowledged)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Seat everybody, start the matches, and watch; gives the tables."""
        try:
            seated = await asyncio.gather(*(self._seat(number) for number in range(self._tables)))
            ready = [asyncio.Event() for _ in range(self._tables + 1)]
            streams = [f"{self._cluster.watched}/v1/matches/{at['match']}/stream" for at in seated]
            self._watchers = [
                asyncio.create_task(self._watch_match(url, at["match"], event))
                for url, at, event in zip(streams, seated, ready, strict=False)
            ]
            self._watchers.append(asyncio.create_task(self._watch_board(ready[-1])))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*(event.wait() for event in ready))
            yield seated
        finally:
            for watcher in self._watchers:
                watcher.cancel()
            await asyncio.gather(*self._watchers, return_exceptions=True)
            await self._http.aclose()

    async def play(self, seated: list[dict[str, Any]], seconds: float) -> None:
        """Let one table after the other move at the pace, for so long; a table that is late is waited for."""
        loop = asyncio.get_running_loop()
        free: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for at in seated:
            free.put_nowait(at)
        under_way: set[asyncio.Task[None]] = set()
        started = loop.time()
        for number in itertools.count():
            due = started + number * self._pause_seconds
            if due > started + seconds:
                break
            await asyncio.sleep(max(0.0, due - loop.time()))
            task = asyncio.create_task(self._move(await free.get(), free))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)

    async def arrival(self) -> None:
        """Wait until every move has reached its spectator.

        Raises:
            TimeoutError: it did not within the patience.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.missing:  # noqa: ASYNC110 - counted when it is asked for
                await asyncio.sleep(0.02)

    async def _seat(self, number: int) -> dict[str, Any]:
        tokens = [
            (await self._write("lobby", "/v1/players", None, {"name": f"Bench {number} {seat}"}))["token"]
            for seat in range(2)
        ]
        table = (await self._write("lobby", "/v1/tables", tokens[0], GAME))["id"]
        await self._write("lobby", f"/v1/tables/{table}/join", tokens[1], {})
        match = (await self._write("lobby", f"/v1/tables/{table}/start", tokens[0], {}))["match_id"]
        return {"table": table, "match": match, "tokens": tokens, "view": await self._view(match)}

    async def _move(self, at: dict[str, Any], free: asyncio.Queue[dict[str, Any]]) -> None:
        """Roll until six, then stand; and start again when a match is over."""
        view = at["view"]
        seat = view["turn"]
        move = "stand" if view["view"]["total"] >= 6 else "roll"
        token = at["tokens"][seat]
        answer = await self._http.post(
            f"{self._cluster.engine}/v1/matches/{at['match']}/moves",
            json={"move": {"type": move}},
            headers=self._headers(token) | {"If-Match": f'"{view["version"]}"'},
        )
        now = time.perf_counter()
        answer.raise_for_status()
        moved = answer.json()
        self.moves += 1
        self._acknowledged[at["match"], moved["version"]] = now
        for event in moved["events"]:
            if event["type"] == "round-started":
                self._rounds[at["table"], event["data"]["round"]] = now
        at["view"] = await self._view(at["match"])
        if at["view"]["turn"] is not None:
            free.put_nowait(at)

    async def _watch_match(self, url: str, match: str, ready: asyncio.Event) -> None:
        async for event, version, _ in self._frames(url):
            ready.set()
            if event not in {"snapshot", "keep-alive"}:
                self._arrived.setdefault((match, version), time.perf_counter())

    async def _watch_board(self, ready: asyncio.Event) -> None:
        async for event, _, data in self._frames(f"{self._cluster.projections}/v1/lobby/stream"):
            now = time.perf_counter()
            ready.set()
            if event == "table" and data["match"] is not None:
                self._shown.setdefault((data["id"], data["match"]["round"]), now)

    async def _frames(self, url: str) -> AsyncIterator[tuple[str, int, Any]]:
        async with self._http.stream("GET", url, timeout=None) as answer:
            answer.raise_for_status()
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    yield fields["event"], int(fields["id"]), json.loads(fields["data"])
                    fields = {}

    async def _view(self, match: str) -> Any:
        return (await self._http.get(f"{self._cluster.engine}/v1/matches/{match}")).raise_for_status().json()

    async def _write(self, service: str, path: str, token: str | None, body: Any) -> Any:
        url = getattr(self._cluster, service) + path
        answer = await self._http.post(url, json=body, headers=self._headers(token))
        return answer.raise_for_status().json()

    def _headers(self, token: str | None) -> dict[str, str]:
        headers = {"Idempotency-Key": f"bench-{time.monotonic_ns()}-{next(self._keys)}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return headers


def percentile(values: list[float], share: float) -> float:
    """Return the value below which so large a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
