"""From the events of a match to a result that counts, or to none.

Pure: a row goes in, an event goes in, the next row comes out.

A match counts when its table was rated, all its players are different people and no bot, and it was played
to its end. It does not count when it was voided, or aborted before everybody had acted:

* A seat has *acted* when its player sent a move other than ``leave``: the first event of each command
  carries seat and move as its cause and the player as its actor.
* A seat is *settled* when it has acted or has been eliminated.
* A match is *aborted* when the command that ends it eliminates somebody, while some seat was not settled
  before that command. Of two players, one who leaves before the first move spoils the match and loses
  nothing; of three, one who never moves spoils nothing once the other two play on.

A match that ends in the ordinary way counts even if somebody's turn never came (an instant win).
Whether options are house rules is decided where the table is opened; here only the flag is read.

A row is there for as long as the writer of ratings has to do with the match: until it is applied, and again from
when it is voided until it is withdrawn. What was applied stands in ``leaderboard_changes``.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Event, Recorded
from services.contracts.events.catalogue import decode
from services.contracts.events.match import MatchEnded, MatchStarted, MatchVoided, PlayerEliminated

PLAYERS_MIN: Final = 2

TYPES: Final = frozenset({"match-started", "player-eliminated", "match-ended", "match-voided"})
"""What a match is asked about; of all other events only who caused them matters."""

_LEAVE: Final = "leave"


class _Move(Struct):
    """As much of a move as is needed here."""

    type: str = ""


class _Cause(Struct):
    """As much of a cause as is needed here."""

    move: _Move


_cause = msgspec.json.Decoder(_Cause).decode


class Contest(Struct, frozen=True):
    """A match that may yet count, that is to be applied, or that is to be withdrawn.

    Attributes:
        players: by seat.
        settled: one bit a seat: it has acted or has been eliminated.
        eliminated_by: the last command that eliminated somebody, empty before the first.
        settled_before: ``settled`` as it was before that command.
        ended_position: where in the log it ended; None while it runs.
        ended_version: the version of its end.
        places: by seat, once it has ended.
        voided_version: the version at which it was voided, after its end.
        rated: whether it was applied, and is still to be withdrawn.
    """

    match: str
    game: str
    players: tuple[str, ...] = ()
    settled: int = 0
    eliminated_by: str = ""
    settled_before: int = 0
    ended_position: int | None = None
    ended_version: int | None = None
    places: tuple[int, ...] | None = None
    voided_version: int | None = None
    rated: bool = False

    @property
    def everybody(self) -> int:
        """``settled`` when it is so for all seats."""
        return (1 << len(self.players)) - 1


def evolve(contest: Contest | None, recorded: Recorded) -> Contest | None:
    """Return the match after an event of its stream; None: it cannot count, now or later.

    An event that changes nothing gives back the very object that came in.
    """
    event = recorded.event
    if event.type not in TYPES:
        return contest if contest is None else _acted(contest, event)
    match decode(event.type, event.schema, event.body):
        case MatchStarted() as started:
            return _enter(started)
        case PlayerEliminated() as eliminated if contest is not None:
            return _eliminate(_acted(contest, event), eliminated.seat, event.command)
        case MatchEnded() as ended if contest is not None:
            return _end(_acted(contest, event), ended, recorded)
        case MatchVoided() if contest is not None and contest.voided_version is None:
            return None if contest.places is None else replace(contest, voided_version=event.version)
        case _:
            return contest


def applied(contest: Contest | None) -> Contest | None:
    """Return the match after it was applied to the ratings; None: there is nothing left to do with it."""
    if contest is None or contest.voided_version is None:
        return None
    return replace(contest, rated=True)  # it was voided while the writer was about to apply it


def _enter(started: MatchStarted) -> Contest | None:
    players = tuple(seat.player for seat in started.seats)
    distinct = len(set(players)) == len(players)
    people = all(seat.bot is None for seat in started.seats)
    if not (started.rated and people and distinct and len(players) >= PLAYERS_MIN):
        return None
    return Contest(started.match, started.game, players)


def _acted(contest: Contest, event: Event) -> Contest:
    if event.cause is None or contest.settled == contest.everybody or event.actor not in contest.players:
        return contest
    bit = 1 << contest.players.index(event.actor)
    if contest.settled & bit or _cause(event.cause).move.type == _LEAVE:
        return contest
    return replace(contest, settled=contest.settled | bit)


def _eliminate(contest: Contest, seat: int, command: str) -> Contest:
    # A command may eliminate several; what counts is how things stood before the first of them.
    before = contest.settled_before if command == contest.eliminated_by else contest.settled
    return replace(contest, settled=contest.settled | 1 << seat, eliminated_by=command, settled_before=before)


def _end(contest: Contest, ended: MatchEnded, recorded: Recorded) -> Contest | None:
    event = recorded.event
    aborted = event.command == contest.eliminated_by and contest.settled_before != contest.everybody
    if aborted or len(ended.places) != len(contest.players):
        return None
    return replace(
        contest, ended_position=recorded.position, ended_version=event.version, places=ended.places
    )
