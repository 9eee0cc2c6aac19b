"""Events of ratings: the stream ``g_GAME`` of each game, an account of every match that counts in it.

One writer keeps it, and nothing in it is ever edited. The account of one player is a chain: each application begins at
the rating with which the one before it ended. Taking a match back leaves a gap in the chains of its players; what
came after is applied anew, at a higher revision, until every chain is whole again.
"""

from __future__ import annotations

from msgspec import Struct

from services.contracts.events.base import Fact


class RatedSeat(Struct, frozen=True):
    """What a match did to the rating of one player.

    Attributes:
        place: in which the player came out of the match, 1 is first.
        games: rated games of the player before this one.
        k: the factor that follows from them.
        before: the rating before the match, in thousandths of a point.
        after: the rating after the match, in thousandths of a point.
    """

    player: str
    place: int
    games: int
    k: int
    before: int
    after: int


class RatingApplied(Fact, frozen=True, tag="rating-applied"):
    """A finished match was applied to the ratings of its players.

    Attributes:
        position: where in the log the match ended; applications are ordered by it.
        version: of ``match-ended`` in the match's stream.
        policy: the version of the arithmetic by which the ratings follow from each other.
        revision: 0 for the first application, one more each time it is made anew, after an earlier match was taken
            back.
        seats: by seat.
    """

    match: str
    game: str
    position: int
    version: int
    policy: int
    revision: int
    seats: tuple[RatedSeat, ...]


class RatingWithdrawn(Fact, frozen=True, tag="rating-withdrawn"):
    """A match that had been applied was voided: its application counts no more.

    Attributes:
        version: of ``match-voided`` in the match's stream.
    """

    match: str
    game: str
    version: int
