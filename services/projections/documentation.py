"""What the OpenAPI document says of the projections beyond the handlers."""

from __future__ import annotations

from typing import Final

from services.projections.board.http import LobbyPage
from services.projections.board.view import MatchOnBoard, SeatOnBoard, TableOnBoard
from services.projections.health import ProjectionHealth
from services.projections.history.http import (
    HistoryPage,
    MatchInHistory,
    RatingChange,
    SeatInHistory,
    Statistics,
)
from services.projections.history.tables import Figures
from services.projections.http import ProjectionList
from services.projections.leaderboards.http import LeaderboardPage, Neighbourhood, Ranked
from services.projections.records.http import Holder, RecordLine, RecordTable, RecordTables
from services.runtime.web.openapi import Documentation, Example, Media

_DESCRIPTION: Final = """
What is worked out from the log for readers: the live board of tables, the leaderboards, who played what. Everything
here follows the log within moments, and `GET /v1/projections` tells how far each has come. Reading needs no token;
answers have an `ETag`, so that polling costs little: send it as `If-None-Match`.
"""

ANNA: Final = "p_01KB9YPZ3M5N7P9R1T3V5X7Z9A"
BELA: Final = "p_01KB9YQ04N6P8R0T2V4X6Z8A0C"
TABLE: Final = "t_01KB9YQ3V7T2M4N5P6R7S8T9VW"
MATCH: Final = "m_01KB9YQ9D1F3H5K7M9P1R3T5V7"
AT_MS: Final = 1_764_495_000_000

_TAGS: Final = {
    "lobby board": "Public tables and what is played at them, by page and live.",
    "leaderboards": "Ranks by game, and a player among neighbours.",
    "history": "What a player has played.",
    "records": "The longest, the fastest, the most: each line leads to its moment in the replay.",
    "projections": "How far each projection has come.",
}

_FIRST: Final = Ranked(1, ANNA, "Anna", 1016.667, 3, provisional=True)
_SECOND: Final = Ranked(2, BELA, "Bela", 983.333, 3, provisional=True)
_TABLE: Final = TableOnBoard(
    id=TABLE, game="dice-race", options={"chips_to_win": 3},
    seats=[SeatOnBoard(0, ANNA, "Anna", None), SeatOnBoard(1, BELA, "Bela", None)], seats_taken=2, host=ANNA,
    state="playing", turn_seconds=None, rated=True, match_id=MATCH,
    match=MatchOnBoard(MATCH, "running", 2, AT_MS), opened_at_ms=AT_MS - 60_000,
)  # fmt: skip
_MATCH: Final = MatchInHistory(
    id=MATCH, table=TABLE, game="dice-race", status="ended", rated=True, visibility="public", seat=0, place=1,
    seats=[
        SeatInHistory(0, ANNA, "Anna", None, 1, eliminated=False),
        SeatInHistory(1, BELA, "Bela", None, 2, eliminated=False),
    ],
    rounds=5, started_at_ms=AT_MS, ended_at_ms=AT_MS + 90_000, rating=RatingChange(1000.0, 1016.667),
)  # fmt: skip
_FIGURES: Final = Figures(
    game="dice-race",
    matches=3,
    rated=3,
    wins=2,
    eliminated=0,
    rounds=14,
    rounds_won=6,
    places={"1": 2, "2": 1},
    streak=1,
    streak_longest=1,
    busts=4,
    calls=0,
    catches=0,
    caught=0,
    stacked=0,
    penalty_cards=0,
    chips=0,
    points=0,
)
_FASTEST: Final = RecordTable(
    "fastest-match",
    "Fastest match",
    "milliseconds",
    [
        RecordLine(
            rank=1,
            value=41_250,
            game="dice-race",
            match=MATCH,
            version=38,
            seat=None,
            players=[Holder(0, ANNA, "Anna"), Holder(1, BELA, "Bela")],
            at_ms=AT_MS + 41_250,
        )
    ],
)
_HEALTH: Final = ProjectionHealth(
    name="board", version=1, state="running", healthy=True, position=1042, lag_positions=0, lag_seconds=0.0,
    parked=0, silent_seconds=1.2, rebuild=None, leader=None, last_error=None, dead_letters=None,
)  # fmt: skip

_EXAMPLES: Final = (
    Example("get_lobby", "one", "One table", answer=LobbyPage([_TABLE], None, 1042)),
    Example("get_leaderboard", "two", "Two players", answer=LeaderboardPage([_FIRST, _SECOND], None)),
    Example("get_standing", "second", "The second of two", answer=Neighbourhood(_SECOND, [_FIRST], [])),
    Example("list_matches_of_player", "one", "One match", answer=HistoryPage([_MATCH], None)),
    Example("get_statistics_of_player", "race", "One game", answer=Statistics(ANNA, "Anna", [_FIGURES])),
    Example("list_records", "fastest", "One record", answer=RecordTables([_FASTEST])),
    Example("list_records_of_game", "fastest", "One record", answer=RecordTables([_FASTEST])),
    Example("list_projections", "well", "All is well", answer=ProjectionList([_HEALTH])),
)


def documentation() -> Documentation:
    """Return it."""
    return Documentation(
        description=_DESCRIPTION,
        tags=_TAGS,
        enums={"Visibility": ("public", "private"), "MatchStatus": ("running", "ended", "voided")},
        parameters={"game": "The id of a game.", "player": "The id of a player.", "name": "The name of a projection."},
        patterns={"player": "^p_[0-9A-Za-z.]+$", "game": "^[a-z][a-z-]*$"},
        samples={"game": "dice-race", "player": ANNA},
        examples=_EXAMPLES,
        media=[
            Media(
                "stream_lobby", "text/event-stream",
                "`snapshot` holds the board, or what changed since the id that the client came with; `table` a table"
                " that is new or changed; `gone` the id of one that is no longer shown; `keep-alive` the newest"
                " `version`. Ids are positions of the log.",
                'retry: 1000\n\nevent: snapshot\nid: 1042\n'
                'data: {"position":1042,"whole":true,"items":[],"gone":[]}\n\n',
            ),
        ],
    )  # fmt: skip
