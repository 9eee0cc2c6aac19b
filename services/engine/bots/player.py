"""Plays the bots of one match, through the same door as people."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Final

import msgspec
from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import fact_of
from services.engine.bots.pace import Pace
from services.engine.bots.situation import of_running_round, situation
from services.engine.bots.thinking import Thinking
from services.engine.play.moves import Busy, Done, KeyReused, Moves, NoSuchMatch, NotAPlayer, Refused, Stale
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import Move
from services.engine.rules.match import Match
from services.runtime.bus import Bell
from services.runtime.log import EventLog

Outcome = Done | Refused | Stale | KeyReused | NotAPlayer | NoSuchMatch | Busy

PAGE_EVENTS: Final = 1_000
BUSY_SECONDS: Final = 0.05
FALSE_STEP_SECONDS: Final = 1.0
"""How long a bot waits that has made a move against the rules."""

_logger: Final = logging.getLogger(__name__)
_json: Final = msgspec.json.Encoder().encode


class Want(Struct, frozen=True):
    """What a bot is going to do.

    Attributes:
        due: when its pause is over, in the loop's time.
    """

    seat: int
    move: Move
    due: float


class BotPlayer:
    """All bots of one match.

    It follows the match by its stream, as any client does, and remembers of it what `situation` needs. A move names
    the version that it was chosen at, and its command's id follows from match, version and seat: two processes that
    play the same match for a moment make one move, not two.
    """

    def __init__(
        self,
        match: str,
        log: EventLog,
        moves: Moves,
        bell: Bell,
        catalogue: Catalogue,
        thinking: Thinking,
        pace: Pace,
        poll_seconds: float,
    ) -> None:
        """Play a match from its first event on, or from wherever it has got to."""
        self._stream = match
        self._log = log
        self._moves = moves
        self._bell = bell
        self._catalogue = catalogue
        self._thinking = thinking
        self._pace = pace
        self._poll_seconds = poll_seconds
        self._match: Match | None = None
        self._version = 0
        self._history: tuple[Fact, ...] = ()
        self._wants: dict[int, Want] = {}

    async def run(self) -> None:
        """Play until the match is over."""
        loop = asyncio.get_running_loop()
        with self._bell.listen(self._stream) as ear:
            while True:
                if await self._follow():
                    await self._think(loop.time())
                if self._match is not None and self._match.over:
                    return
                next_want = min(self._wants.values(), key=lambda want: want.due, default=None)
                wait_seconds = self._poll_seconds if next_want is None else next_want.due - loop.time()
                if next_want is not None and wait_seconds <= 0:
                    await self._move(next_want)
                else:
                    await ear.wait(min(wait_seconds, self._poll_seconds))

    async def _follow(self) -> bool:
        """Read what has happened since; say whether anything has."""
        before = self._version
        while True:
            page = await self._log.read_links(self._stream, self._version, PAGE_EVENTS)
            self._fold([fact_of(link) for link in page])
            for link in page:
                self._version = link.version
                # Who has moved begins a new pause; who is still to decide the same thing goes on with the old one.
                self._forget_want_of(link.actor)
            if len(page) < PAGE_EVENTS:
                return self._version != before

    def _fold(self, facts: Sequence[Fact]) -> None:
        if not facts:
            return
        if self._match is None:
            self._match = matches.fold(facts[:1], self._catalogue)
            self._history, facts = (), facts[1:]
        self._match = matches.evolve_all(self._match, facts)
        self._history = of_running_round(self._history, facts)

    def _forget_want_of(self, player: str) -> None:
        seat = self._match.seat_of(player) if self._match is not None else None
        if seat is not None:
            self._wants.pop(seat, None)

    async def _think(self, now: float) -> None:
        """Ask every bot that may do something what it wants at this version."""
        match = self._match
        if match is None:
            return
        before, self._wants = self._wants, {}
        for seat, sits in enumerate(match.started.seats):
            seen = situation(match, seat, self._history) if sits.bot is not None else None
            if seen is None or sits.bot is None:
                continue
            move = await self._thinking.choose(self._stream, self._version, sits.bot, match.rules, seen)
            if move is None:
                continue
            chance = Random(self._thinking.seed(self._stream, self._version, seat, "pause"))  # noqa: S311 - the seed is secret
            due = now + self._pace.pause_seconds(move, chance)
            old = before.get(seat)
            if old is not None and type(old.move) is type(move):
                due = min(due, old.due)
            self._wants[seat] = Want(seat, move, due)

    async def _move(self, want: Want) -> None:
        del self._wants[want.seat]
        done = await self._send(want.seat, want.move)
        match done:
            case Done() | KeyReused():
                pass  # what happened, here or elsewhere, is read next
            case Stale() if done.version != self._version:
                pass  # the same
            case Stale() | Busy():
                self._wants[want.seat] = want
                await asyncio.sleep(BUSY_SECONDS)
            case Refused():
                _logger.error(
                    "%s of a bot is refused in %s at version %d: %s",
                    want.move, self._stream, self._version, done.refusal,
                )  # fmt: skip
                self._help(want.seat)
            case NotAPlayer() | NoSuchMatch():
                _logger.error("a bot does not sit in %s: %s", self._stream, done)

    def _help(self, seat: int) -> None:
        """Let a legal move stand in for one that was refused."""
        seen = situation(self._match, seat, self._history) if self._match is not None else None
        move = self._thinking.helped_out(self._stream, self._version, seen) if seen is not None else None
        if move is not None:
            due = asyncio.get_running_loop().time() + FALSE_STEP_SECONDS
            self._wants[seat] = Want(seat, move, due)

    async def _send(self, seat: int, move: Move) -> Outcome:
        if self._match is None:
            return NoSuchMatch()
        command = f"bot:{self._stream}:{self._version}:{seat}"
        return await self._moves.move(
            self._stream,
            self._match.started.seats[seat].player,
            move,
            if_match=self._version,
            command=command,
            request_hash=sha256(command.encode() + b"\n" + _json(move)).digest(),
        )
