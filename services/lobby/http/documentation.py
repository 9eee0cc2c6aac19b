"""What the OpenAPI document says of players and tables beyond the handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from services.contracts.events.catalogue import TableFact
from services.lobby.http.tables import StartedMatch
from services.lobby.players.guests import NewPlayer
from services.lobby.players.sessions import Issued, NewToken
from services.lobby.tables.views import TablePage, TableSeat, TableView
from services.runtime.players import Player
from services.runtime.tokens.named import NamedToken
from services.runtime.web.openapi import Documentation, Example, Media

_DESCRIPTION: Final = """
The lobby makes players (`POST /v1/players` is one call, and gives a token), and sits them down at tables. A table
holds the settings of a game, seats, and a commitment to the chance of its next match, published before anybody gives a
seed of their own. When the host starts it (or quick match does), the engine plays the match that `match_id` names.
"""

_TAGS: Final = {
    "players": "Become a guest, become an account.",
    "tokens": "Sign in, go on, log out; named tokens for programs.",
    "tables": "Open a table, sit down, start, or let quick match do all of it.",
}


ENUMS: Final[Mapping[str, Sequence[str | int]]] = {
    "Visibility": ("public", "private"),
    "TurnSeconds": (10, 30),
    "BotLevel": ("casual", "sharp"),
    "TableState": ("open", "playing", "closed"),
}
UNIONS: Final = {"TableEventData": TableFact}

ANNA: Final = "p_01KB9YPZ3M5N7P9R1T3V5X7Z9A"
BELA: Final = "p_01KB9YQ04N6P8R0T2V4X6Z8A0C"
TABLE: Final = "t_01KB9YQ3V7T2M4N5P6R7S8T9VW"
MATCH: Final = "m_01KB9YQ9D1F3H5K7M9P1R3T5V7"
SIGNED: Final = "eyJhbGciOiJFZERTQSIsImtpZCI6ImsxIn0.eyJzdWIiOiJwXzAxS0I5WVBaIn0.c2lnbmF0dXJl"
REFRESH: Final = "rt_0b9d2f6a1c3e5g7h"
AT_MS: Final = 1_764_495_000_000
DAYS_90_MS: Final = 90 * 86_400_000
NAMED_ID: Final = "n_01KB9YQ5H7J9K1M3N5P7R9S1T3"

_OPTIONS: Final = (
    b'{"target":9,"pontoon":false,"chips_to_win":3,"first":"lot","instant_win":false,"stakes":"none",'
    b'"ties":"playoff","starting_chips":20,"stake":1,"max_rounds":20}'
)

_OPENED: Final = TableView(
    id=TABLE, version=2, game="dice-race", rules_version=1, options=Raw(_OPTIONS),
    seats=[TableSeat(0, ANNA, "Anna", None), TableSeat(1, None, None, None)], host=ANNA, state="open",
    turn_seconds=None, visibility="public", rated=True, filling=False,
    commitment="b4f6d7e0c51ea0bf0d1cc3e7f4b8a9d2c6e5f3a1908b7c6d5e4f3a2b1c0d9e8f", commitment_number=42,
    match_id=None, next_match_id=MATCH,
)  # fmt: skip
_JOINED: Final = replace(
    _OPENED, version=4, seats=[TableSeat(0, ANNA, "Anna", None), TableSeat(1, BELA, "Bela", None)]
)
_WITH_BOT: Final = replace(
    _OPENED, version=3, rated=False,
    seats=[TableSeat(0, ANNA, "Anna", None), TableSeat(1, "p_01KB9YQ15P7Q9R1S3T5V7W9X1Y", "sharp bot", "sharp")],
)  # fmt: skip
_PRIVATE: Final = replace(_OPENED, version=3, visibility="private", invite_code="K7QM2R9T")
_PLAYING: Final = replace(_JOINED, version=5, state="playing", match_id=MATCH, next_match_id=None)

_GUEST: Final = Player(ANNA, "Anna", "guest")
_ACCOUNT: Final = Player(ANNA, "Anna", "account")
_SESSION: Final = NewPlayer(_GUEST, SIGNED, REFRESH, 3600)

_EXAMPLES: Final = (
    Example("create_player", "anna", "A guest named Anna", {"name": "Anna"}, _SESSION),
    Example("get_me", "guest", "A guest", answer=_GUEST),
    Example(
        "add_credential", "anna", "Anna becomes an account", {"name": "Anna", "password": "nine lucky dice"}, _ACCOUNT
    ),
    Example(
        "change_password", "change", "Another password", {"current": "nine lucky dice", "password": "ten lucky cards"}
    ),
    Example(
        "sign_in", "anna", "Anna comes back", {"name": "Anna", "password": "nine lucky dice"},
        NewPlayer(_ACCOUNT, SIGNED, REFRESH, 3600),
    ),
    Example("refresh_token", "next", "The next token", {"refresh_token": REFRESH}, Issued(SIGNED, REFRESH, 3600)),
    Example(
        "make_token", "bot", "A token for a bot", {"name": "my bot", "scopes": ["play"], "days": 90},
        NewToken(NAMED_ID, "my bot", ["play"], AT_MS, AT_MS + DAYS_90_MS, SIGNED),
    ),
    Example(
        "list_tokens", "one", "One token",
        answer={"items": [NamedToken(NAMED_ID, "my bot", ["play"], AT_MS, AT_MS + DAYS_90_MS)], "next": None},
    ),
    Example("open_table", "two", "A table for two", {"game": "dice-race", "seats": 2}, _OPENED),
    Example(
        "open_table", "private", "A private one with an option",
        {"game": "dice-race", "seats": 2, "options": {"chips_to_win": 2}, "visibility": "private"},
        replace(_PRIVATE, options=Raw(_OPTIONS.replace(b'"chips_to_win":3', b'"chips_to_win":2'))),
    ),
    Example("list_tables", "one", "One open table", answer=TablePage([_OPENED], None)),
    Example("get_table", "open", "A table that waits for somebody", answer=_OPENED),
    Example("get_table", "playing", "A table where a match is played", answer=_PLAYING),
    Example("change_table", "private", "Make it private", {"visibility": "private"}, _PRIVATE),
    Example("start_table", "started", "The match runs", answer=StartedMatch(MATCH)),
    Example("quick_match", "race", "Any table of dice-race", {"game": "dice-race"}, _PLAYING),
    Example("join_table", "anywhere", "Any seat, with a seed", {"seed": "my-own-luck"}, _JOINED),
    Example("join_table", "invited", "A seat at a private table", {"seat": 1, "invite_code": "K7QM2R9T"}, _JOINED),
    Example("leave_table", "left", "Bela has left", answer=replace(_OPENED, version=5)),
    Example("give_seed", "seed", "A seed of Anna's own", {"seed": "f3Xk-27_pQ"}, replace(_JOINED, version=5)),
    Example("seat_bot", "sharp", "A bot that plays well", {"level": "sharp"}, _WITH_BOT),
    Example("pass_host", "bela", "Bela shall decide", {"player": BELA}, replace(_JOINED, version=5, host=BELA)),
    Example("remove_player", "removed", "The seat is free", answer=replace(_OPENED, version=5)),
)  # fmt: skip


def documentation() -> Documentation:
    """Return it."""
    return Documentation(
        description=_DESCRIPTION,
        tags=_TAGS,
        unions=UNIONS,
        enums=ENUMS,
        parameters={
            "table_id": "The id of a table.",
            "token_id": "The id of a named token.",
            "seat": "The number of a seat, from 0.",
            "game": "The id of a game.",
            "state": "Only tables in this state.",
            "cursor": "`next` of the page before; without it the first page.",
            "limit": "How many items a page has at most.",
            "after": "The version to go on after.",
        },
        patterns={"table_id": "^t_[0-9A-Za-z.]+$"},
        samples={"table_id": TABLE, "token_id": NAMED_ID, "seat": 1},
        examples=_EXAMPLES,
        media=[
            Media(
                "stream_table", "text/event-stream",
                "`snapshot` holds a `TableView`; each `change` an event and the table that it left; `keep-alive` the"
                " newest `version`. Ids are versions.",
                'retry: 1000\n\nevent: keep-alive\nid: 4\ndata: {"version":4}\n\n',
            ),
        ],
    )  # fmt: skip
