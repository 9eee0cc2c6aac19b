"""Engine and leaderboards in one process, where everything repeats: time stands still, chance follows from a seed."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, TypeVar

import httpx

from services.engine.app import service as engine
from services.engine.disputes.command_log import CommandLog
from services.projections.app import service as projections
from services.runtime.platform import Platform
from services.runtime.web.app import App, create_app
from tests.engine.conftest import TestClock
from tests.http.app import opened, settings_of

ANNA, BELA, CORA, DORA = (f"p_01KB9YTEST000000000000000{at}" for at in range(4))
NAMES = {ANNA: "Anna", BELA: "Bela", CORA: "Cora", DORA: "Dora"}
AUDITOR = "p_01KB9YTEST000000000000000A"
NAMES[AUDITOR] = "Ruth"

T = TypeVar("T")
Headers = dict[str, str]


class Entropy:
    """Bytes that follow from a seed: for each length a row of its own, so that unrelated users do not mix."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = Counter[int]()

    def __call__(self, count: int) -> bytes:
        self._drawn[count] += 1
        found = sha256(f"{self._seed}:{count}:{self._drawn[count]}".encode()).digest()
        return (found * (count // len(found) + 1))[:count]


class Hall:
    """A hall to play in, and to complain in."""

    def __init__(self, app: App, clock: TestClock) -> None:
        self.app = app
        self.clock = clock
        self.platform: Platform = app.state["platform"]
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hall")
        self._keys = Counter[str]()

    def the(self, kind: type[T]) -> T:
        return self.app.state["provided"][kind]

    async def ask(
        self,
        player: str | None,
        method: str,
        path: str,
        body: Any = None,
        *,
        scopes: str = "play",
        key: str | None = None,
        headers: Headers | None = None,
    ) -> httpx.Response:
        """Ask as a player, as the lobby (``lobby``), or as nobody (None)."""
        sent = dict(headers or {})
        if player is not None:
            granted = frozenset({"service"} if player == "lobby" else scopes.split())
            sent["Authorization"] = f"Bearer {self.platform.tokens.access_token(player, granted)}"
        if method != "GET":
            self._keys[player or ""] += 1
            sent["Idempotency-Key"] = key or f"key-{self._keys[player or '']}"
        return await self.http.request(method, path, json=body, headers=sent)

    async def start(
        self, game: str, players: list[str], options: dict[str, Any] | None = None, **settings: Any
    ) -> str:
        """Commit to and start a match."""
        asked = {"game": game, "seats": len(players), "options": options or {}}
        committed = (await self.ask("lobby", "POST", "/v1/commitments", asked)).json()
        body = {
            "match_id": committed["match_id"], "table_id": "t_01KB9YTEST0000000000000000", "game": game,
            "options": committed["options"], "rated": True, **settings,
            "seats": [{"player": player, "seed": f"luck-of-{NAMES[player]}"} for player in players],
        }  # fmt: skip
        started = await self.ask("lobby", "POST", "/v1/matches", body)
        assert started.status_code == 200, started.text
        return committed["match_id"]

    async def view(self, match: str, player: str | None = None) -> dict[str, Any]:
        answer = await self.ask(player, "GET", f"/v1/matches/{match}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(
        self,
        match: str,
        player: str,
        move: dict[str, Any],
        key: str | None = None,
        version: int | None = None,
    ) -> httpx.Response:
        """Send a move, at the present version where it needs one."""
        headers: Headers = {}
        if move["type"] not in ("call", "catch", "leave"):
            at = (await self.view(match))["version"] if version is None else version
            headers["If-Match"] = f'"{at}"'
        return await self.ask(
            player, "POST", f"/v1/matches/{match}/moves", {"move": move}, key=key, headers=headers
        )

    async def play(
        self, match: str, player: str, move: dict[str, Any], after_ms: int = 1_700
    ) -> dict[str, Any]:
        """Let time go by and make a move that is accepted."""
        self.clock.turn(after_ms / 1000)
        answer = await self.send(match, player, move)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def leave(self, match: str, player: str) -> None:
        await self.play(match, player, {"type": "leave"})

    async def dispute(
        self, match: str, player: str, version: int, complaint: str, key: str | None = None, **more: Any
    ) -> httpx.Response:
        return await self.ask(
            player, "POST", f"/v1/matches/{match}/disputes",
            {"version": version, "complaint": complaint, **more}, key=key,
        )  # fmt: skip

    async def rule(
        self,
        dispute: str,
        verdict: str,
        match: str,
        reasons: str,
        auditor: str = AUDITOR,
        key: str | None = None,
    ) -> httpx.Response:
        body = {"verdict": verdict, "match": match, "reasons": reasons}
        return await self.ask(
            auditor, "POST", f"/v1/disputes/{dispute}/ruling", body, scopes="play audit", key=key
        )

    async def report(self, dispute: str, player: str | None = None, scopes: str = "play") -> str:
        answer = await self.ask(
            player, "GET", f"/v1/disputes/{dispute}/case", scopes=scopes, headers={"Accept": "text/markdown"}
        )
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/markdown")
        return answer.text

    async def case(self, dispute: str, player: str | None = None, scopes: str = "play") -> dict[str, Any]:
        answer = await self.ask(player, "GET", f"/v1/disputes/{dispute}/case", scopes=scopes)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def events(self, match: str, player: str | None = None) -> list[dict[str, Any]]:
        return (await self.ask(player, "GET", f"/v1/matches/{match}/events?limit=1000")).json()["items"]

    async def logged(self, match: str) -> list[dict[str, Any]]:
        """Return what the commands log holds of a match."""
        await self.the(CommandLog).flush()
        rows = await self.platform.database.pool.fetch(
            "select * from macao_engine.command_log where match = $1 order by arrived_ms, number", match
        )
        return [dict(row) for row in rows]


@asynccontextmanager
async def open_hall(
    database: str, redis_url: str, clock: TestClock, seed: str = "hall", **settings: Any
) -> AsyncIterator[Hall]:
    """Open a hall in which everybody is known by name."""
    wanted = settings_of(database, redis_url, bots=False, **settings)
    platform = Platform(wanted, clock=clock, entropy=Entropy(seed))
    async with opened(create_app(wanted, [engine, projections], platform=platform)) as app:
        hall = Hall(app, clock)
        await platform.database.pool.executemany(
            "insert into macao_runtime.players (id, name, kind) values ($1, $2, 'guest') on conflict do nothing",
            list(NAMES.items()),
        )
        async with hall.http:
            yield hall
