"""A program on the generated Python clients: two guests play a whole match of every game against each other.

The test type-checks it together with the clients, runs it against a service (its address is the argument), and reads
the JSON that it prints: for each game the match, its last version and the places.
"""

import json
import random
import sys
from http import HTTPStatus
from typing import TypeVar
from uuid import uuid4

from macao_engine import AuthenticatedClient as EngineClient
from macao_engine import Client as EngineGuest
from macao_engine.api.games import list_games
from macao_engine.api.matches import get_match, make_move
from macao_engine.models import (
    AskMove,
    CallMove,
    CatchMove,
    DrawMove,
    GamePage,
    LeaveMove,
    MatchStatus,
    MatchView,
    MoveAnswer,
    MoveRequest,
    PassMove,
    PlayMove,
    RollMove,
    SitOutMove,
    StakeMove,
    StakeRange,
    StandMove,
    TakeMove,
)
from macao_lobby import AuthenticatedClient as LobbyClient
from macao_lobby import Client as LobbyGuest
from macao_lobby.api.players import create_player
from macao_lobby.api.tables import join_table, open_table, start_table
from macao_lobby.models import JoinRequest, NewPlayer, OpenRequest, PlayerRequest, StartedMatch, TableView
from macao_lobby.models import OpenRequestOptions as Options

MOVES_MAX = 5_000
PLAYERS = 2

Move = (
    AskMove | CallMove | CatchMove | DrawMove | LeaveMove | PassMove | PlayMove | RollMove | SitOutMove | StakeMove
    | StandMove | TakeMove
)  # fmt: skip
Legal = (
    AskMove | CallMove | CatchMove | DrawMove | PassMove | PlayMove | RollMove | SitOutMove | StakeRange | StandMove
    | TakeMove
)  # fmt: skip
T = TypeVar("T")

SHORT: dict[str, dict[str, int]] = {
    "dice-race": {"chips_to_win": 1},
    "dice-bank": {"laps": 1},
    "cards-bank": {"coups": 2},
}


class Seat:
    """One player, with a client of each service under the own token."""

    def __init__(self, server: str, name: str) -> None:
        made = expect(NewPlayer, create_player.sync(client=LobbyGuest(server), body=PlayerRequest(name=name)))
        self.lobby = LobbyClient(server, made.token)
        self.engine = EngineClient(server, made.token)

    def look(self, match: str) -> MatchView:
        """Return the match as this player sees it."""
        return expect(MatchView, get_match.sync(match, client=self.engine))

    def move(self, match: str, version: int, move: Move) -> MoveAnswer:
        """Make a move, under a key of its own."""
        answer = make_move.sync_detailed(
            match,
            client=self.engine,
            body=MoveRequest(move=move),
            idempotency_key=uuid4().hex,
            if_match=f'"{version}"',
        )
        assert answer.status_code is HTTPStatus.OK, answer.content
        return expect(MoveAnswer, answer.parsed)


def expect(wanted: type[T], answer: object) -> T:
    """Return an answer of the wanted type; a problem is shown."""
    if not isinstance(answer, wanted):
        raise TypeError(f"{wanted.__name__} was expected, not {answer}")
    return answer


def choose(legal: list[Legal], chance: random.Random) -> Move:
    """Choose a move: by chance, but lay cards where that is possible."""
    plays = [move for move in legal if isinstance(move, PlayMove)]
    move = chance.choice(plays or legal)
    if isinstance(move, StakeRange):
        return StakeMove(type_="stake", amount=chance.randint(move.min_, move.max_))
    return move


def play(server: str, game: str, chance: random.Random) -> MatchView:
    """Play a match of a game, and return its last view."""
    host, guest = Seat(server, "Typed One"), Seat(server, "Typed Two")
    request = OpenRequest(game=game, seats=PLAYERS, options=Options.from_dict(SHORT.get(game, {})))
    table = expect(
        TableView, open_table.sync(client=host.lobby, body=request, idempotency_key=uuid4().hex)
    ).id
    seed = JoinRequest(seed=uuid4().hex)
    joined = join_table.sync(table, client=guest.lobby, body=seed, idempotency_key=uuid4().hex)
    assert [seat.name for seat in expect(TableView, joined).seats] == ["Typed One", "Typed Two"]
    started = start_table.sync(table, client=host.lobby, idempotency_key=uuid4().hex)
    match = expect(StartedMatch, started).match_id
    seats = (host, guest)
    for _ in range(MOVES_MAX):
        view = host.look(match)
        if view.status is not MatchStatus.RUNNING:
            return view
        assert view.turn is not None
        seat = seats[view.turn]
        own = seat.look(match)
        answer = seat.move(match, own.version, choose(own.legal, chance))
        assert answer.version > own.version
        assert answer.events[0].version == own.version + 1
    raise AssertionError(f"{game} does not end")


def main(server: str) -> None:
    """Play all games that the service has."""
    games = expect(GamePage, list_games.sync(client=EngineGuest(server))).items
    ended = {game.game: play(server, game.game, random.Random(game.game)) for game in games}
    print(
        json.dumps(
            {
                game: {
                    "match": view.id,
                    "version": view.version,
                    "places": view.places,
                    "position": view.view.game,
                }
                for game, view in ended.items()
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
