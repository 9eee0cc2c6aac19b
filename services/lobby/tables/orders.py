"""What can be asked of a table."""

from __future__ import annotations

from msgspec import Struct

from services.lobby.tables.table import NO_SEED, Commitment, Level, Settings


class Open(Struct, frozen=True):
    """Open a table under a commitment that was published before.

    ``quick_min`` makes it a table of quick match, which starts by itself with at least so many players.
    """

    game: str
    rules_version: int
    settings: Settings
    commitment: Commitment
    quick_min: int | None = None


class Join(Struct, frozen=True):
    """Sit down, on ``seat`` or on any; ``invite_hash`` is that of the code that was given.

    With ``starts`` the match begins if that was the last free seat; at a table of quick match it does so anyway.
    """

    seat: int | None = None
    seed: str = NO_SEED
    invite_hash: str | None = None
    starts: bool = False


class SeatBot(Struct, frozen=True):
    """Sit a bot down, on ``seat`` or on any."""

    player: str
    level: Level
    seat: int | None = None


class Leave(Struct, frozen=True):
    """Stand up."""


class StandUp(Struct, frozen=True):
    """Free the seat of somebody who is gone for good; the service itself or an operator asks for it."""

    player: str


class Expire(Struct, frozen=True):
    """Close the table: nobody has touched it for long. The service itself asks for it."""


class Remove(Struct, frozen=True):
    """Free the seat of a player or a bot."""

    seat: int


class PassHost(Struct, frozen=True):
    """Make somebody else who sits here the host."""

    player: str


class GiveSeed(Struct, frozen=True):
    """Give or change the own contribution to chance."""

    seed: str


class ChangeSettings(Struct, frozen=True):
    """Play by other settings from the next match on."""

    settings: Settings


class Start(Struct, frozen=True):
    """Start the match."""


class StartQuick(Struct, frozen=True):
    """Start the first match of a table of quick match, with those who sit there; ``bots`` fill up what is missing."""

    bots: tuple[str, ...] = ()
    level: Level = "casual"


class Finish(Struct, frozen=True):
    """A match is over; the next one is played under ``commitment``, or none, as today's rules cannot play it.

    ``left`` are the seats of those who left the match while it ran: they leave the table as well.
    """

    match: str
    commitment: Commitment | None
    left: tuple[int, ...] = ()


Order = (
    Join | SeatBot | Leave | StandUp | Expire | Remove | PassHost | GiveSeed | ChangeSettings | Start | StartQuick
    | Finish
)  # fmt: skip
