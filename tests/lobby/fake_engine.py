"""An engine for the lobby's tests: commits, starts and ends matches as the real one does, and fails when told to."""

import hashlib
import itertools
from typing import Any

import msgspec
from litestar import Router, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Raw, Struct
from msgspec.structs import replace

from services.contracts.envelope import Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft
from services.contracts.events.match import MatchEnded, MatchStarted, PlayerEliminated, SeatTaken
from services.contracts.ids import MATCH, make_id
from services.runtime.log import Append, Appended
from services.runtime.platform import Platform
from services.runtime.service import Service
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request


class CommitmentRequest(Body, frozen=True):
    game: str
    seats: int
    options: dict[str, Any]
    completed: bool = False
    match_id: str | None = None


class SeatRequest(Body, frozen=True):
    player: str
    seed: str
    bot: str | None = None


class StartRequest(Body, frozen=True):
    match_id: str
    table_id: str
    game: str
    options: dict[str, Any]
    seats: tuple[SeatRequest, ...]
    turn_seconds: int | None
    rated: bool
    visibility: str


class Committed(Struct, frozen=True):
    match_id: str
    commitment: str
    number: int
    game: str
    rules_version: int
    options: dict[str, Any]
    turn_seconds: int | None = None
    house_rules: bool = False


class FakeEngine:
    """``started`` has the requests by match; the next ``refusals`` starts are answered with ``refuse``."""

    def __init__(self) -> None:
        self.platform: Platform | None = None
        self.committed: dict[str, Committed] = {}
        self.by_command: dict[str, str] = {}
        self.started: dict[str, StartRequest] = {}
        self.asked_to_start = 0
        self.refuse = ""
        self.refusals = 0
        self._numbers = itertools.count(1)

    def service(self, platform: Platform) -> Service:
        self.platform = platform
        return Service("engine", (Router("/v1", route_handlers=[game, commit, start]),), provides=(self,))

    def commit(self, data: CommitmentRequest, command: str) -> Committed:
        if data.game != "dice-race":
            raise Problem("unknown-game", params={"game": data.game})
        if not 2 <= data.seats <= 6:
            raise Problem("seats-invalid", clause="DR-1.1", params={"min": 2, "max": 6})
        if set(data.options) - {"target", "house"}:
            raise Problem("options-invalid", clause="DR-6", params={"option": min(data.options)})
        match = data.match_id or self.by_command.get(command)
        if match is None:
            match = make_id(MATCH, 1, next(self._numbers).to_bytes(10, "big"))
            self.by_command[command] = match
            commitment = hashlib.sha256(match.encode()).hexdigest()
            self.committed[match] = Committed(match, commitment, len(self.committed) + 1, data.game, 1, {})
        options = data.options if data.completed else {"target": 9, **data.options}
        return replace(self.committed[match], options=options, house_rules="house" in options)

    async def start(self, data: StartRequest) -> int:
        self.asked_to_start += 1
        if self.refusals:
            self.refusals -= 1
            raise Problem(self.refuse)
        if data.match_id not in self.started:
            self.started[data.match_id] = data
            seats = tuple(SeatTaken(seat.player, seat.seed, seat.bot) for seat in data.seats)
            commitment = self.committed[data.match_id]
            fact = MatchStarted(
                match=data.match_id, table=data.table_id, game=data.game, rules_version=1,
                options=Raw(msgspec.json.encode(data.options)), seats=seats, turn_seconds=None, rated=data.rated,
                visibility="public", commitment=commitment.commitment, commitment_number=commitment.number,
            )  # fmt: skip
            await self._append(data.match_id, Head(), fact)
        return 1

    async def end(self, match: str, left: tuple[int, ...] = ()) -> None:
        """End a match, after these seats have left it."""
        for seat in left:
            head = await self.platform.log.head_of(match)
            await self._append(match, head, PlayerEliminated(seat, "left", 2))
        head = await self.platform.log.head_of(match)
        await self._append(match, head, MatchEnded(places=(1, 2)))

    async def _append(self, match: str, head: Head, fact: Fact) -> None:
        command = f"c_{match}_{head.version}"
        events = chain(
            head,
            [draft(fact, fact, None)],
            stream=match,
            actor="engine",
            command=command,
            at_ms=1,
            cause=None,
        )
        item = Append(match, MATCH, head, tuple(events), command, bytes(32), b"{}")
        assert isinstance(await self.platform.log.append(item), Appended)


@get("/games/{game:str}")
async def game(game: FromPath[str]) -> dict[str, Any]:
    if game != "dice-race":
        raise Problem("unknown-game", params={"game": game})
    options = {"target": 9}
    return {
        "game": game,
        "rules_version": 1,
        "seats_min": 2,
        "seats_max": 6,
        "turn_seconds": None,
        "options": options,
        "options_schema": {"type": "object"},
        "title": "Dice",
    }


@post("/commitments", guards=[needs("service")])
async def commit(request: Request, data: JSONBody[CommitmentRequest]) -> Committed:
    command = await request.command()
    return request.the(FakeEngine).commit(data, command.id)


@post("/matches", guards=[needs("service")], status_code=200)
async def start(request: Request, data: JSONBody[StartRequest]) -> dict[str, Any]:
    await request.command()
    return {"match_id": data.match_id, "version": await request.the(FakeEngine).start(data)}
