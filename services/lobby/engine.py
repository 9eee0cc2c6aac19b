"""The engine, as the lobby knows it: it commits to a match, checks options, and starts the match."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from services.lobby.tables.table import Commitment, Table, TurnSeconds
from services.runtime.peer import Peer
from services.runtime.web.problems import Problem

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")


class Committed(Struct, frozen=True):
    """A commitment, with the options as the rules read them: every option with its value.

    ``turn_seconds`` is the game's own default for thinking time, where the engine tells it. A match by
    ``house_rules`` is not rated.
    """

    match_id: str
    commitment: str
    number: int
    game: str
    rules_version: int
    options: Raw
    turn_seconds: TurnSeconds | UnsetType = UNSET
    house_rules: bool = False

    @property
    def as_commitment(self) -> Commitment:
        """What a table keeps of it."""
        return Commitment(self.match_id, self.commitment, self.number)


class Game(Struct, frozen=True):
    """A game of the engine's catalogue, with its default options and thinking time."""

    game: str
    seats_min: int
    seats_max: int
    turn_seconds: TurnSeconds
    options: dict[str, Any]


class _CommitmentRequest(Struct, frozen=True, omit_defaults=True):
    game: str
    options: Raw
    seats: int
    completed: bool = False
    match_id: str | None = None


class _SeatRequest(Struct, frozen=True):
    player: str
    seed: str
    bot: str | None


class _StartRequest(Struct, frozen=True):
    match_id: str
    table_id: str
    game: str
    options: Raw
    seats: list[_SeatRequest]
    turn_seconds: TurnSeconds
    rated: bool
    visibility: str


class _Started(Struct, frozen=True):
    match_id: str
    version: int


class Engine:
    """Asks the engine. Everything may be asked again: the same question has the same answer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def game(self, game: str) -> Game:
        """Return a game.

        Raises:
            Problem: ``unknown-game``, ``unavailable``.
        """
        # A client's words become a part of the path: only what can be a game's name does.
        if _NAME.fullmatch(game) is None:
            raise Problem("unknown-game", params={"game": game})
        return await self._peer.get(f"/v1/games/{game}", Game)

    async def commit(
        self,
        game: str,
        options: Raw,
        seats: int,
        *,
        key: str,
        match: str | None = None,
        completed: bool = False,
    ) -> Committed:
        """Check the settings and return the commitment to a match of them.

        A match that was committed to before keeps its commitment; without ``match`` the engine names a new one.
        ``completed`` says that the options came back from the engine before, every one with its value.

        Raises:
            Problem: ``unknown-game``, ``options-invalid``, ``seats-invalid``, ``unavailable``.
        """
        request = _CommitmentRequest(game, options, seats, completed, match)
        return await self._peer.post("/v1/commitments", request, Committed, key=key)

    async def start(self, table: Table) -> None:
        """Start the match that a table has requested, once, however often this is called.

        Raises:
            Problem: the engine refuses, or is ``unavailable``.
        """
        if table.match is None:
            raise ValueError(f"{table.id} has requested no match")
        settings = table.settings
        request = _StartRequest(
            match_id=table.match,
            table_id=table.id,
            game=table.game,
            options=settings.options,
            seats=[_SeatRequest(seat.player, seat.seed, seat.bot) for seat in table.seated],
            turn_seconds=settings.turn_seconds,
            rated=table.rated,
            visibility=settings.visibility,
        )
        answer: Any = await self._peer.post("/v1/matches", request, _Started, key=f"start:{table.match}")
        if answer.match_id != table.match:
            raise RuntimeError(f"the engine started {answer.match_id} instead of {table.match}")
