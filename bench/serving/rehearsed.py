"""Matches whose moves are known before they are played, as requests that only have to be sent.

The bench owns the database and the secret key, and so can read the seed of a match that has just begun. With it all
chance of the match follows, and with that every move at every version. So while the clock runs, the client works
nothing out.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from random import Random
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.serving.http_client import Connection, get, post
from services.contracts.envelope import Recorded
from services.contracts.events.catalogue import fact_of
from services.contracts.ids import ENTROPY_BYTES, PLAYER, make_id
from services.engine.play.commitments import Commitments
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import AnyRules, Move, Refusal
from services.runtime.clock import SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.log import EventLog
from services.runtime.settings import Settings
from services.runtime.tokens.tokens import Tokens
from services.runtime.vault import Vault

_json: Final = msgspec.json.Encoder().encode
AT_A_TIME: Final = 8


class Rehearsed(Struct, frozen=True):
    """A match that has begun: what is to be sent, in this order, from beginning to end.

    Attributes:
        versions: of the match before each request.
        seats: whose move each request is.
        messages: the same moves, as they are sent over a WebSocket.
        tokens: by seat.
    """

    match: str
    requests: list[bytes]
    versions: list[int]
    seats: list[int]
    messages: list[bytes]
    tokens: list[str]


class _Planned(Struct, frozen=True):
    """One move of a match that has been worked out."""

    seat: int
    version: int
    request: bytes
    message: bytes


class Stage:
    """Starts matches at an engine, and works them out.

    Use it as a context manager; it has a small pool of connections of its own.
    """

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        """Take the settings that the engine has, and where it answers."""
        self._database = Database(replace(settings, database_pool_max=4))
        self._vault = Vault(settings.secret_key, system_entropy)
        self._clock = SystemClock()
        self._tokens = Tokens(self._database, self._vault, self._clock, system_entropy)
        self._commitments = Commitments(self._database, self._vault, self._clock, system_entropy)
        self._log = EventLog(self._database)
        self._at = (host, port)
        self._keys = itertools.count(1)
        self._run = os.urandom(8).hex()
        self._players = [make_id(PLAYER, self._clock.now_ms(), os.urandom(ENTROPY_BYTES)) for _ in range(64)]
        self._player_tokens: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        await self._database.open()
        await self._tokens.open()
        self._player_tokens = {
            player: self._tokens.access_token(player, frozenset({"play"})) for player in self._players
        }
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def matches(
        self, game: str, seats: int, moves_min: int, options: dict[str, Any] | None = None
    ) -> list[Rehearsed]:
        """Start matches until they have as many moves together."""
        made: list[Rehearsed] = []
        while sum(len(one.requests) for one in made) < moves_min:
            made += await asyncio.gather(*(self.match(game, seats, options or {}) for _ in range(AT_A_TIME)))
        return made

    async def looked_at(self, game: str, seats: int, count: int) -> None:
        """Start so many matches, look at each so that the process has it in memory, and leave them as they are."""
        connection = await Connection.to(*self._at)
        for _ in range(0, count, AT_A_TIME):
            players = self._players[:seats]
            begun = await asyncio.gather(*(self._begun(game, players, {}) for _ in range(AT_A_TIME)))
            for match_id in begun:
                await connection.ask(get(f"/v1/matches/{match_id}"))
        connection.close()

    async def match(self, game: str, seats: int, options: dict[str, Any]) -> Rehearsed:
        """Start a match of random players, and work it out."""
        chance = Random(next(self._keys))
        players = chance.sample(self._players, seats)
        match_id = await self._begun(game, players, options)
        events = await self._log.read_stream(match_id)
        seed = await self._commitments.seed_of(match_id)
        planned = list(self._worked_out(events, seed, players, chance))
        return Rehearsed(
            match_id,
            [one.request for one in planned],
            [one.version for one in planned],
            [one.seat for one in planned],
            [one.message for one in planned],
            [self._player_tokens[player] for player in players],
        )

    async def _begun(self, game: str, players: list[str], options: dict[str, Any]) -> str:
        """Commit to a match and start it, as the lobby does; return its id."""
        connection = await Connection.to(*self._at)
        try:
            asked = {"game": game, "seats": len(players), "options": options}
            committed = msgspec.json.decode(
                await connection.ask(post("/v1/commitments", _json(asked), self._lobby()))
            )
            begun = {
                "match_id": committed["match_id"],
                "table_id": "t_" + committed["match_id"][2:],
                "game": game,
                "options": committed["options"],
                "seats": [{"player": player} for player in players],
                "rated": False,
            }
            await connection.ask(post("/v1/matches", _json(begun), self._lobby()))
        finally:
            connection.close()
        match_id: str = committed["match_id"]
        return match_id

    def _worked_out(
        self, events: list[Recorded], seed: bytes, players: list[str], chance: Random
    ) -> Iterator[_Planned]:
        match = matches.fold([fact_of(one.event) for one in events], CATALOGUE)
        keys = matches.keys_of(match, seed)
        version = events[-1].event.version
        path = f"/v1/matches/{match.started.match}/moves"
        while (waiting := matches.pending(match)) is not None:
            seat = waiting.turn
            move = _move(match.rules, chance.choice(matches.legal(match, seat)), chance)
            advanced = matches.advance(match, seat, move, keys)
            if isinstance(advanced, Refusal):
                raise TypeError(f"{match.rules.name} refuses {move}, which it lists: {advanced}")
            headers = self._headers(self._player_tokens[players[seat]]) | {"If-Match": f'"{version}"'}
            encoded = _json(move)
            message = b'{"type":"move","key":"%b","version":%d,"move":%b}'
            yield _Planned(
                seat,
                version,
                post(path, b'{"move":%b}' % encoded, headers),
                message % (headers["Idempotency-Key"].encode(), version, encoded),
            )
            facts, match = advanced
            version += len(facts)

    def _lobby(self) -> dict[str, str]:
        return self._headers(self._tokens.service_token("lobby"))

    def _headers(self, token: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {token}",
            "Idempotency-Key": f"bench-{self._run}-{next(self._keys)}",
        }


def _move(rules: AnyRules, entry: Struct, chance: Random) -> Move:
    """Turn an entry of ``legal`` into a move: most are one, a stake stands as its range."""
    if isinstance(entry, Move):
        return entry
    words = msgspec.to_builtins(entry)
    words["amount"] = chance.randint(words.pop("min"), words.pop("max"))
    move: Move = msgspec.convert(words, rules.moves)
    return move
