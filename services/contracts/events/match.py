"""Events that every match has, whatever the game."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.chance import LotDraw


class SeatTaken(Struct, frozen=True):
    """Who sits where when a match starts. Names are kept outside the log, under the player's id.

    Attributes:
        player: ``p_…``; for a bot the id under which the service moves for it.
        seed: the player's own contribution to chance, ``-`` without one and for bots.
        bot: the bot's level, or None for a person.
    """

    player: str
    seed: str
    bot: str | None = None


class MatchStarted(Fact, frozen=True, tag="match-started"):
    """The first event of every match (G1): all that stays fixed while it runs.

    Attributes:
        game: the game's id, for instance ``dice-race``.
        rules_version: the version of its rules under which the match is decided, for ever.
        options: every option of the game with its value, defaults filled in.
        seats: seat 0 first, clockwise (G2).
        turn_seconds: 10, 30, or None for no clock (G10).
        commitment: SHA-256 commitment to the service's seed (hex), public since before the first player's seed.
        commitment_number: its place in the gapless public count of commitments.
    """

    match: str
    table: str
    game: str
    rules_version: int
    options: msgspec.Raw
    seats: tuple[SeatTaken, ...]
    turn_seconds: Literal[10, 30] | None
    rated: bool
    visibility: Literal["public", "private"]
    commitment: str
    commitment_number: int


class LotDrawn(Fact, frozen=True, tag="lot-drawn"):
    """A lot was drawn for ``purpose`` (who starts, who holds the bank, who deals first)."""

    purpose: Literal["starter", "bank", "dealer"]
    seat: int
    draw: LotDraw


class RoundStarted(Fact, frozen=True, tag="round-started"):
    """A round, coup or deal begins.

    Attributes:
        round: from 1; chance is drawn under this number.
        kind: ``extra`` is the round for a pot that was still waiting (DR-4.7).
        order: the seats in the order of their turns.
    """

    round: int
    kind: Literal["round", "extra"]
    order: tuple[int, ...]


class RoundEnded(Fact, frozen=True, tag="round-ended"):
    """A round, coup or deal is over; ``winners`` is empty when nobody won it."""

    round: int
    winners: tuple[int, ...]


class PlayerEliminated(Fact, frozen=True, tag="player-eliminated"):
    """A player left a running match or ran out of time (G7)."""

    seat: int
    reason: Literal["left", "timeout"]
    place: int


class WentOut(Fact, frozen=True, tag="went-out"):
    """A player took a place before the end: out of chips (G12) or out of cards."""

    seat: int
    place: int


class MatchEnded(Fact, frozen=True, tag="match-ended"):
    """The match is over. ``places`` has one place per seat, 1 is first, equal results share (G8)."""

    places: tuple[int, ...]


class MatchVoided(Fact, frozen=True, tag="match-voided"):
    """The match does not count."""

    reason: str
