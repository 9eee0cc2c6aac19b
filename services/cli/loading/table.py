"""One table of a load: its players, its spectator, and match after match."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from random import Random
from time import monotonic
from typing import Any, Final
from uuid import uuid4

import httpx

from services.cli.loading.tally import Tally

GAMES: Final = {"dice-race": 3, "dice-bank": 3, "cards-bank": 3, "cards-places": 3, "cards-points": 2}
"""What is played, by how many."""

PART: Final = "version,turn,legal,status"
BACKOFF_FIRST_SECONDS: Final = 0.1
BACKOFF_LAST_SECONDS: Final = 5.0


class RefusedError(Exception):
    """The service answered with a problem."""

    def __init__(self, code: str, retry_seconds: float) -> None:
        super().__init__(code)
        self.retry_seconds = retry_seconds


class Table:
    """Plays one match after another until nobody wants more.

    Args:
        http: the clients' connections.
        number: of the table; everything random at it follows from that and the seed.
        think_seconds: the pause before each move, on average.
        wants_more: asked before each move; False ends the table.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        tally: Tally,
        game: str,
        number: int,
        chance: Random,
        *,
        think_seconds: float,
        watched: bool,
        wants_more: Callable[[], bool],
    ) -> None:
        self._http = http
        self._tally = tally
        self._game = game
        self._number = number
        self._chance = chance
        self._think_seconds = think_seconds
        self._watched = watched
        self._wants_more = wants_more
        self._tokens: list[str] = []
        self._answered: dict[int, float] = {}

    async def run(self) -> None:
        """Play; what goes wrong is counted, and tried again after a pause that grows."""
        pause_seconds = BACKOFF_FIRST_SECONDS
        while self._wants_more():
            try:
                await self._match()
                pause_seconds = BACKOFF_FIRST_SECONDS
                continue
            except RefusedError as error:
                self._tally.refusals[str(error)] += 1
                pause_seconds = max(pause_seconds, error.retry_seconds)
            except httpx.HTTPError as error:
                self._tally.broken[type(error).__name__] += 1
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, BACKOFF_LAST_SECONDS)

    async def _match(self) -> None:
        """Open a table, play one match, and have it watched."""
        while len(self._tokens) < GAMES[self._game]:
            guest = await self._write(
                "/v1/players", None, {"name": f"Load {self._number} {len(self._tokens) + 1}"}
            )
            self._tokens.append(guest["token"])
        host = self._tokens[0]
        opened = await self._write("/v1/tables", host, {"game": self._game, "seats": len(self._tokens)})
        for token in self._tokens[1:]:
            await self._write(f"/v1/tables/{opened['id']}/join", token, {})
        match = (await self._write(f"/v1/tables/{opened['id']}/start", host, {}))["match_id"]
        self._answered.clear()
        watching = asyncio.create_task(self._watch(match)) if self._watched else None
        self._tally.playing += 1
        try:
            await self._play(match)
        finally:
            self._tally.playing -= 1
            if watching is not None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching

    async def _play(self, match: str) -> None:
        turn = 0
        while self._wants_more():
            part = await self._part(match, turn)
            if part["turn"] is None:
                self._tally.matches += part["status"] == "ended"
                return
            if part["turn"] != turn:
                turn = part["turn"]
                continue
            if self._think_seconds:
                await asyncio.sleep(self._chance.expovariate(1 / self._think_seconds))
            await self._move(match, turn, part)

    async def _move(self, match: str, seat: int, part: dict[str, Any]) -> None:
        move = dict(self._chance.choice(part["legal"]))
        if "min" in move:
            move["amount"] = self._chance.randint(move.pop("min"), move.pop("max"))
        path = f"/v1/matches/{match}/moves"
        sent = monotonic()
        try:
            done = await self._write(path, self._tokens[seat], {"move": move}, version=part["version"])
        except RefusedError as error:
            if (
                str(error) != "stale-version"
            ):  # somebody else was faster: look again; everything else ends the match
                raise
            self._tally.refusals[str(error)] += 1
            return
        now = monotonic()
        self._tally.moved(self._game, now - sent)
        self._answered[done["version"]] = now

    async def _part(self, match: str, seat: int) -> Any:
        request = self._http.build_request(
            "GET",
            f"/v1/matches/{match}/part",
            params={"fields": PART},
            headers={"Authorization": f"Bearer {self._tokens[seat]}"},
        )
        return await self._ask(request)

    async def _write(self, path: str, token: str | None, body: Any, version: int | None = None) -> Any:
        headers = {"Idempotency-Key": uuid4().hex}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        return await self._ask(self._http.build_request("POST", path, json=body, headers=headers))

    async def _ask(self, request: httpx.Request) -> Any:
        """Send a request, and again where a limit was met, when the service says."""
        while True:
            try:
                return _read(await self._http.send(request))
            except RefusedError as error:
                if str(error) != "rate-limited" or not self._wants_more():
                    raise
                self._tally.refusals[str(error)] += 1
                await asyncio.sleep(error.retry_seconds)

    async def _watch(self, match: str) -> None:
        """Follow the match, and note how long after its answer each move's last event comes."""
        try:
            async with self._http.stream("GET", f"/v1/matches/{match}/stream", timeout=None) as answer:
                if answer.status_code != HTTPStatus.OK:
                    await answer.aread()
                    _read(answer)
                async for line in answer.aiter_lines():
                    if line.startswith("id: "):
                        answered = self._answered.pop(int(line[4:]), None)
                        if answered is not None:
                            self._tally.lag.add(monotonic() - answered)
        except RefusedError as error:
            self._tally.refusals[f"{error} (stream)"] += 1
        except httpx.HTTPError as error:
            self._tally.broken[f"{type(error).__name__} (stream)"] += 1


def _read(answer: httpx.Response) -> Any:
    """Return what was answered.

    Raises:
        RefusedError: it is a problem.
    """
    if answer.is_success:
        return answer.json()
    try:
        code = str(answer.json()["code"])
    except (json.JSONDecodeError, KeyError, TypeError):
        code = f"status {answer.status_code}"
    try:
        retry_seconds = float(answer.headers.get("retry-after", "0"))
    except ValueError:
        retry_seconds = 0.0
    raise RefusedError(code, retry_seconds)
