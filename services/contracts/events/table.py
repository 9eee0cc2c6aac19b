"""Events of a table: the stream ``t_…`` that people sit down at before, between and after matches."""

from __future__ import annotations

from typing import Literal

import msgspec

from services.contracts.events.base import Fact


class TableOpened(Fact, frozen=True, tag="table-opened"):
    """A table was opened. ``host`` sits in seat 0 from the start.

    Attributes:
        options: the game's options, defaults filled in.
        seats: how many seats there are.
        invite_hash: SHA-256 of the invitation code of a private table (hex), None for a public one.
    """

    game: str
    rules_version: int
    options: msgspec.Raw
    seats: int
    turn_seconds: Literal[10, 30] | None
    visibility: Literal["public", "private"]
    rated: bool
    host: str
    invite_hash: str | None = None


class QuickMatchOpened(Fact, frozen=True, tag="quick-match-opened"):
    """The table is one of quick match: strangers are sat down at it, and its first match starts by itself.

    That is when it is full, or a short time after ``seats_min`` players, the fewest that the game takes, sit there.
    """

    seats_min: int


class CommitmentPublished(Fact, frozen=True, tag="commitment-published"):
    """The commitment for the next match, with the id it will have, before any player's seed for it is accepted."""

    match: str
    commitment: str
    number: int


class SettingsChanged(Fact, frozen=True, tag="settings-changed"):
    """The settings changed while no match was running; every setting as it now stands.

    The host changed them, or quick match took away the seats that stayed free.
    """

    options: msgspec.Raw
    seats: int
    turn_seconds: Literal[10, 30] | None
    visibility: Literal["public", "private"]
    rated: bool
    invite_hash: str | None = None


class PlayerJoined(Fact, frozen=True, tag="player-joined"):
    """A player sat down; ``seed`` is the player's own contribution to chance, ``-`` without one."""

    seat: int
    player: str
    seed: str


class BotSeated(Fact, frozen=True, tag="bot-seated"):
    """A bot sat down; the service moves for it, under the id ``player``. A match with a bot is unrated."""

    seat: int
    player: str
    level: Literal["casual", "sharp"]


class PlayerMoved(Fact, frozen=True, tag="player-moved"):
    """Whoever sat on ``seat`` sits on ``to`` now: quick match closed a gap before it started with free seats."""

    seat: int
    player: str
    to: int


class PlayerLeft(Fact, frozen=True, tag="player-left"):
    """A seat became free: the player left, or the host removed who sat there."""

    seat: int
    player: str
    reason: Literal["left", "removed"]


class SeedGiven(Fact, frozen=True, tag="seed-given"):
    """A seated player gave, or changed, the own contribution to the chance of the next match.

    A new commitment sets every seed back to ``-``: a seed that the service knew before it committed proves nothing.
    """

    seat: int
    seed: str


class HostPassed(Fact, frozen=True, tag="host-passed"):
    """Another player became the host."""

    player: str


class MatchRequested(Fact, frozen=True, tag="match-requested"):
    """The match was started; seats are fixed from here on. The engine is asked until it answers."""

    match: str


class MatchFinished(Fact, frozen=True, tag="match-finished"):
    """The match at this table ended or was voided; the table is open again."""

    match: str


class TableClosed(Fact, frozen=True, tag="table-closed"):
    """The table is gone: nobody sits here any more, or nobody has touched it for long, seated or not."""

    reason: Literal["empty", "host", "operator", "expired"]
