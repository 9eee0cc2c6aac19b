"""Players who keep at it: a move is sent under one key until it has an answer, and what was answered is kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final
from uuid import uuid4

from tests.engine.conftest import Engine

PAUSE_SECONDS: Final = 0.05


class Match:
    """One match of dice-race, played by one client for both seats.

    Attributes:
        acknowledged: the hash of the last event of each move that was answered, by version.
        answers: how many there were, by status.
    """

    def __init__(self, engine: Engine, match: str) -> None:
        self._engine = engine
        self.match = match
        self.acknowledged: dict[int, str] = {}
        self.commands: set[str] = set()
        self.answers: Counter[int] = Counter()

    async def play(self, seconds: float, moves_max: int | None = None) -> None:
        """Move for so long, or so often; a refusal that says "not now" is followed by the same request."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        version, turn = await self._look(until)
        while loop.time() < until and turn is not None:
            if moves_max is not None and len(self.acknowledged) >= moves_max:
                return
            key = uuid4().hex
            answer = await self._send(turn, version, key, until)
            if answer is None:
                return
            last = answer["events"][-1]
            assert last["version"] == answer["version"] > version
            self.acknowledged[last["version"]] = last["hash"]
            self.commands.add(last["command"])
            version, turn = answer["version"], answer["turn"]

    async def _look(self, until: float) -> tuple[int, int | None]:
        while True:
            answer = await self._engine.as_(None, "GET", f"/v1/matches/{self.match}")
            self.answers[answer.status_code] += 1
            if answer.status_code == 200:
                view = answer.json()
                return view["version"], view["turn"]
            assert answer.status_code == 503, answer.text
            assert asyncio.get_running_loop().time() < until + 30, "nothing but 503"
            await asyncio.sleep(PAUSE_SECONDS)

    async def _send(self, seat: int, version: int, key: str, until: float) -> dict[str, Any] | None:
        """Send a move until it is answered; None if the time was over before."""
        headers = {"If-Match": f'"{version}"', "Idempotency-Key": key}
        body = {"move": {"type": "roll"}}
        while True:
            answer = await self._engine.as_(
                f"p_{seat}", "POST", f"/v1/matches/{self.match}/moves", body, **headers
            )
            self.answers[answer.status_code] += 1
            if answer.status_code == 200:
                return answer.json()
            assert answer.status_code == 503, answer.text
            assert answer.json()["code"] == "unavailable"
            if asyncio.get_running_loop().time() > until + 30:
                return None
            await asyncio.sleep(PAUSE_SECONDS)

    async def holds(self) -> None:
        """See that the log holds all that was acknowledged, once, without a gap."""
        events: list[dict[str, Any]] = []
        while True:
            after = events[-1]["version"] if events else 0
            page = (
                await self._engine.as_(
                    None, "GET", f"/v1/matches/{self.match}/events?limit=1000&after={after}"
                )
            ).json()["items"]
            if not page:
                break
            events += page
        assert [event["version"] for event in events] == list(range(1, len(events) + 1))
        hashes = {event["version"]: event["hash"] for event in events}
        assert {version: hashes.get(version) for version in self.acknowledged} == self.acknowledged
        moves = [event["command"] for event in events if event["cause"] is not None]
        assert len(moves) == len(set(moves))
        assert self.commands <= set(moves)
