"""Clients that a bad network cannot confuse: writes are retried under their key, streams resumed by their last id.

They are what docs/guide.md advises, with nothing left out, and they keep everything that they were told.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import uuid4

import httpx
from msgspec import Struct

PATIENCE_SECONDS: Final = 1.0
PATIENCE_SECONDS_MAX: Final = 16.0
"""An answer or a stream that is silent for so long is taken for lost; twice as long after each time in a row, so that a
busy service is not buried under repetitions. (A stream in life: longer than the 15 s between keep-alives.)"""
PAUSE_SECONDS: Final = 0.02
ATTEMPTS_MAX: Final = 60
AGAIN: Final = frozenset({429, 502, 503})
LAST_EVENT: Final = "seed-revealed"
"""What every match ends with."""


class Frame(Struct, frozen=True):
    """One server-sent event."""

    event: str
    id: int
    data: dict[str, Any]


class Sent(Struct, frozen=True):
    """A move that the service said was made."""

    key: str
    move: dict[str, Any]
    answer: dict[str, Any]


class Caller:
    """Sends requests until they are answered for good.

    Args:
        http: a client with the service's address.
        token: whose requests they are; empty for a stranger's.

    Attributes:
        replays: how many writes had been carried out before, when they were answered at last.
    """

    def __init__(self, http: httpx.AsyncClient, token: str = "") -> None:
        self.http = http
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.replays = 0

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send a request, again and again under the same headers, until there is an answer that settles it."""
        met: Counter[str] = Counter()
        patience = PATIENCE_SECONDS
        for _ in range(ATTEMPTS_MAX):
            try:
                answer = await self.http.request(
                    method, path, json=body, headers=self.headers | headers, timeout=patience
                )
            except httpx.TransportError as error:
                if isinstance(error, httpx.TimeoutException):
                    patience = min(2 * patience, PATIENCE_SECONDS_MAX)
                met[repr(error)] += 1
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            met[str(answer.status_code)] += 1
            if answer.status_code not in AGAIN:
                self.replays += answer.headers.get("Idempotent-Replayed") == "true"
                return answer
            await asyncio.sleep(float(answer.headers.get("Retry-After", "1")))
        raise AssertionError(f"no answer to {method} {path}: {met}")

    async def read(self, path: str) -> Any:
        """Read, and return the JSON of the answer, which has to be a good one."""
        answer = await self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def write(self, path: str, body: Any) -> Any:
        """Write under a fresh key, and return the JSON of the answer, which has to be a good one."""
        answer = await self.ask("POST", path, body, **{"Idempotency-Key": uuid4().hex})
        assert answer.is_success, answer.text
        return answer.json()


class Follower:
    """Follows the stream of a match to its last event, over as many connections as it takes.

    Attributes:
        events: what it was told, in the order of telling.
        connections: how many streams that took.
        changed: set with every event.
    """

    def __init__(self, caller: Caller, match: str) -> None:
        self._caller = caller
        self._match = match
        self._last_id: int | None = None
        self._patience = PATIENCE_SECONDS
        self.events: list[dict[str, Any]] = []
        self.connections = 0
        self.changed = asyncio.Event()

    async def follow(self) -> None:
        """Return when the match is over and everything about it has been told."""
        while not (self.events and self.events[-1]["type"] == LAST_EVENT):
            known = len(self.events)
            try:
                async for frame in self._frames():
                    await self._take(frame)
                    if frame.event == LAST_EVENT:
                        return
            except httpx.TransportError as error:
                if len(self.events) > known:
                    self._patience = PATIENCE_SECONDS
                elif isinstance(error, httpx.TimeoutException):
                    self._patience = min(2 * self._patience, PATIENCE_SECONDS_MAX)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _take(self, frame: Frame) -> None:
        match frame.event:
            case "snapshot" if self._last_id is None:
                await self._catch_up(frame.id)
            case "snapshot" | "keep-alive":
                # It stands where this client stopped.
                assert frame.id == self._last_id, (self._last_id, frame)
            case _:
                assert frame.id == frame.data["version"], frame
                self.events.append(frame.data)
        self._last_id = frame.id
        self.changed.set()

    async def _catch_up(self, version: int) -> None:
        """Read what happened up to the first snapshot, page by page."""
        after: int | None = 0
        while after is not None:
            page = await self._caller.read(f"/v1/matches/{self._match}/events?limit=7&after={after}")
            self.events += [event for event in page["items"] if event["version"] <= version]
            after = None if after >= version else page["next"]

    async def _frames(self) -> AsyncIterator[Frame]:
        headers = dict(self._caller.headers)
        if self._last_id is not None:
            headers["Last-Event-ID"] = str(self._last_id)
        self.connections += 1
        path = f"/v1/matches/{self._match}/stream"
        async with self._caller.http.stream("GET", path, headers=headers, timeout=self._patience) as answer:
            assert answer.status_code == 200, (await answer.aread(), answer.status_code)
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "data" in fields:
                    # Only the empty line makes it an event: what breaks off before never happened.
                    yield Frame(fields["event"], int(fields["id"]), json.loads(fields["data"]))
                    fields = {}


class Player:
    """Somebody who plays a match by what the own stream tells.

    Attributes:
        moves: those that were made, in order.
        refused: how many others were chosen too late.
    """

    def __init__(self, caller: Caller, player: str) -> None:
        self.caller = caller
        self.id = player
        self.moves: list[Sent] = []
        self.refused = 0

    async def move(self, match: str, version: int, move: dict[str, Any]) -> None:
        """Make one move at a version, or learn that it came too late."""
        key = uuid4().hex
        answer = await self.caller.ask(
            "POST",
            f"/v1/matches/{match}/moves",
            {"move": move},
            **{"Idempotency-Key": key, "If-Match": f'"{version}"'},
        )
        if answer.status_code == 200:
            self.moves.append(Sent(key, move, answer.json()))
        else:
            # Somebody else was first (412), or what could be called or caught has passed (409).
            assert answer.status_code in (409, 412), (move, answer.text)
            self.refused += 1
