"""Guests: a player by one call."""

from __future__ import annotations

from asyncpg import UniqueViolationError
from msgspec import Struct

from services.contracts.ids import ENTROPY_BYTES, PLAYER, make_id
from services.lobby.players.answers import Answers
from services.runtime.clock import Clock, Entropy
from services.runtime.database import Database
from services.runtime.players import Player, Players
from services.runtime.tokens.tokens import LIFETIME_SECONDS, Tokens
from services.runtime.web.idempotency import Command


class NewPlayer(Struct, frozen=True):
    """A player, and the tokens of a session that has just begun.

    The ``token`` is for the Authorization header and good for ``expires_in`` seconds; the ``refresh_token`` gets the
    next one.
    """

    player: Player
    token: str
    refresh_token: str
    expires_in: int


class Guests:
    """Makes guests."""

    def __init__(
        self,
        database: Database,
        players: Players,
        tokens: Tokens,
        answers: Answers,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._database = database
        self._players = players
        self._tokens = tokens
        self._answers = answers
        self._clock = clock
        self._entropy = entropy

    async def create(self, name: str, command: Command | None) -> tuple[NewPlayer, bool]:
        """Make a guest of a name that has been checked; returns it, and whether this is a first answer given again.

        Raises:
            Problem: ``idempotency-key-reused``.
        """
        earlier = await self._answers.earlier(command, NewPlayer)
        if earlier is not None:
            return earlier, True
        player = Player(make_id(PLAYER, self._clock.now_ms(), self._entropy(ENTROPY_BYTES)), name, "guest")
        try:
            async with self._database.pool.acquire() as connection, connection.transaction():
                await self._players.create(connection, player)
                token, refresh = await self._tokens.sign_in(connection, player.id)
                made = NewPlayer(player, token, refresh, LIFETIME_SECONDS)
                await self._answers.keep(connection, command, made, player.id)
        except UniqueViolationError:
            return await self._answers.other(command, NewPlayer), True
        return made, False
