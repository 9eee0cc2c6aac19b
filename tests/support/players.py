"""People at a table, over HTTP, with retries as a careful client makes them."""

import itertools
import random
import time
from collections.abc import Callable
from typing import Any, Self
from uuid import uuid4

import httpx

PATIENCE_SECONDS = 60.0


class Player:
    """A guest with a token of its own.

    Args:
        client: talks to the service; shared by players or not.
        name: the guest's name.
    """

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.client = client
        answer = self.retried("POST", "/v1/players", {"name": name}, key=None)
        self.id: str = answer.json()["player"]["id"]
        self.token: str = answer.json()["token"]

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request as this player."""
        return self.client.request(
            method, path, json=body, headers={"Authorization": f"Bearer {self.token}", **headers}
        )

    def retried(
        self, method: str, path: str, body: Any, *, key: str | None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Send a write until it is answered for good: a lost connection or a 503 is asked again under the same key."""
        sent = dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        if hasattr(self, "token"):
            sent["Authorization"] = f"Bearer {self.token}"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.client.request(method, path, json=body, headers=sent)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code not in (500, 502, 503):
                return answer
            assert time.monotonic() < deadline, f"no answer to {method} {path}: {answer and answer.text}"
            time.sleep(0.05)

    def write(self, path: str, body: Any, *, method: str = "POST", **headers: str) -> Any:
        """Write under a fresh key, and return the JSON of the answer, which has to be a good one."""
        answer = self.retried(method, path, body, key=uuid4().hex, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def read(self, path: str) -> Any:
        """Read, and return the JSON of the answer, which has to be a good one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.request("GET", path)
                if answer.status_code not in (500, 502, 503):
                    assert answer.is_success, answer.text
                    return answer.json()
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, f"no answer to GET {path}"
            time.sleep(0.05)

    def move(self, match: str, version: int, move: dict[str, Any], key: str | None = None) -> httpx.Response:
        """Send a move, again and again until it is answered for good."""
        return self.retried(
            "POST",
            f"/v1/matches/{match}/moves",
            {"move": move},
            key=key or uuid4().hex,
            headers={"If-Match": f'"{version}"'},
        )


class Table:
    """A table with everybody seated, and its running match."""

    def __init__(self, players: list[Player], match: str, table: str) -> None:
        self.players = players
        self.match = match
        self.table = table

    @classmethod
    def seat(
        cls, client: httpx.Client, count: int, options: dict[str, Any] | None = None, game: str = "dice-race"
    ) -> Self:
        """Sit ``count`` new guests down at a new table and start a match."""
        players = [Player(client, f"Guest {number + 1}") for number in range(count)]
        host, *others = players
        table = host.write("/v1/tables", {"game": game, "seats": count, "options": options or {}})["id"]
        for player in others:
            player.write(f"/v1/tables/{table}/join", {"seed": f"seed-{uuid4().hex}"})
        return cls(players, host.write(f"/v1/tables/{table}/start", {})["match_id"], table)

    def play(
        self,
        chance: random.Random,
        acknowledged: Callable[[str, dict[str, Any]], None] = lambda *_: None,
        moves_max: int = 10_000,
    ) -> dict[str, Any]:
        """Play to the end by random legal moves, and return the final view."""
        for _ in itertools.repeat(None, moves_max):
            view = self.players[0].read(f"/v1/matches/{self.match}")
            if view["status"] != "running":
                return view
            player = self.players[view["turn"]]
            own = player.read(f"/v1/matches/{self.match}")
            if own["turn"] is None or self.players[own["turn"]] is not player:
                continue
            key = uuid4().hex
            answer = player.move(self.match, own["version"], chance.choice(own["legal"]), key)
            if answer.status_code == 412:
                continue
            assert answer.is_success, answer.text
            acknowledged(key, answer.json())
        raise AssertionError("the match does not end")
