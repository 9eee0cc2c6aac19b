"""What the OpenAPI document says of matches beyond the handlers: moves, events and positions of all games, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from services.contracts.events.catalogue import MatchFact
from services.engine.http import examples
from services.engine.http.games import game_view
from services.engine.play.moves import Cause
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.games import cards_bank, cards_places, cards_points, dice_bank, dice_race
from services.engine.rules.kernel import Expire, Leave
from services.engine.rules.shedding import Call, Catch, Draw, Pass, Play, SitOut, Take
from services.runtime.web.openapi import Documentation, Example, Media

# Games that have a move of the same name have the same move; a test holds them against each other.
Moves = (
    dice_race.Roll | dice_race.Stand | Stake | cards_bank.Ask
    | Play | Draw | Take | Pass | SitOut | Call | Catch | Leave
)  # fmt: skip
Legal = (
    dice_race.Roll | dice_race.Stand | StakeRange | cards_bank.Ask
    | Play | Draw | Take | Pass | SitOut | Call | Catch
)  # fmt: skip
Made = Moves | Expire
Positions = dice_race.View | dice_bank.View | cards_bank.View | cards_places.View | cards_points.View

UNIONS: Final = {
    "Move": Moves, "LegalMove": Legal, "MadeMove": Made, "EventData": MatchFact, "Position": Positions, "Cause": Cause,
}  # fmt: skip
ENUMS: Final[Mapping[str, Sequence[str | int]]] = {
    "Suit": ("C", "D", "H", "S"),
    "Direction": ("clockwise", "counter-clockwise"),
    "MatchStatus": ("running", "ended", "voided"),
    "Visibility": ("public", "private"),
    "TurnSeconds": (10, 30),
}
NAMES: Final = {
    **{
        kind: f"{kind}Move"
        for kind in (
            "Roll", "Stand", "Stake", "Ask", "Play", "Draw", "Take", "Pass", "SitOut", "Call", "Catch", "Leave",
        )
    },
    "Expire": "ExpireMove",
    "View": "Position",
    "PlayerView": "Player",
    "SeatTaken": "MatchSeat",
    "GameView": "Game",
    "RulingView": "Ruling",
}  # fmt: skip

_DESCRIPTION: Final = """
The engine plays matches: it decides moves under the rules, shows each viewer what that viewer may see, and keeps every
event. Who wants to play sits down at a table of the lobby first; the table names its match.

A match has a `version`, the number of its last event. Read it (`GET /v1/matches/{match_id}`), choose one of `legal`,
and send it with `If-Match: "<version>"` and a fresh `Idempotency-Key`. Where `legal` holds a stake, it is a range: send
`{"type": "stake", "amount": …}` with an amount out of it. `GET /v1/matches/{match_id}/stream` tells what happens.
"""

_TAGS: Final = {
    "games": "The games, their options and their rules.",
    "matches": "Look at a match, move in it, follow it.",
    "records": "What is left of a match: the signed record, and the verdict on it.",
    "disputes": "Complaints about a match, case files and rulings.",
    "log": "The log of the whole service: signed checkpoints, and proofs that nothing in it was changed.",
    "chance": "Commitments to the chance of every match, in one gapless count.",
    "internal": "What the lobby asks of the engine; for tokens of services.",
}

_LINES: Final = "With `Accept: application/x-ndjson`: an `EventView` a line."
_RECORD: Final = (
    "A header, a line an event, a signed closing line (docs/record.md). Read it as text, line by line."
)
_STREAM: Final = (
    "`snapshot` holds a `MatchView`; every later event is named by its type, holds an `EventView`, and has its version"
    " as id; `keep-alive` holds the newest `version`."
)

_PLAYER: Final = next(iter(examples.PLAYERS))


def documentation() -> Documentation:
    """Return it; the example matches are played now."""
    mid_match = {rules.name: examples.played(rules, examples.MOVES_SHOWN) for rules in CATALOGUE.newest()}
    over = examples.finished(CATALOGUE.newest()[0])
    record = examples.record_of(over)
    race = mid_match["dice-race"]
    return Documentation(
        description=_DESCRIPTION,
        tags=_TAGS,
        unions=UNIONS,
        names=NAMES,
        enums=ENUMS,
        parameters={
            "match_id": "The id of a match.",
            "dispute_id": "The id of a dispute.",
            "game": "The id of a game, as `GET /v1/games` lists them.",
            "after": "The number to read on after.",
            "fields": "Names of fields, with commas between them.",
            "limit": "How many items a page has at most.",
        },
        patterns={"match_id": "^m_[0-9A-Za-z.]+$", "game": "^[a-z][a-z-]*$"},
        samples={"match_id": examples.MATCH, "game": "dice-race", "fields": "version,turn,to_act"},
        examples=[
            Example(
                "list_games", "first", "The first of the games",
                answer={"items": [game_view(CATALOGUE.newest()[0])], "next": None},
            ),
            *(Example("get_game", rules.name, rules.title, answer=game_view(rules)) for rules in CATALOGUE.newest()),
            *(
                Example("get_match", name, f"A match of {name} on the way, seen by seat 0", answer=example.view(0))
                for name, example in mid_match.items()
            ),
            Example("get_match", "ended", "A match that has ended", answer=over.view(0)),
            Example(
                "get_match_part", "turn", "Whose turn it is",
                answer={"version": race.head.version, "turn": race.view(0).turn, "to_act": race.view(0).to_act},
            ),
            Example("get_state", "middle", "A position on the way", answer=race.view(0)),
            *_moves(mid_match),
            *(
                Example("list_events", name, f"How a match of {name} begins", answer=example.page(0, 8))
                for name, example in mid_match.items()
            ),
            Example("audit_match", "sound", "Nothing is wrong", answer=examples.verdict_on(record)),
            *_chance(),
        ],
        media=[
            Media("get_rules", "text/markdown", "The rules in numbered clauses.", "# Dice race\n\n**DR-1.1** …\n"),
            Media("list_events", "application/x-ndjson", _LINES, _line(race)),
            Media("get_record", "application/x-ndjson", _RECORD, record[0].decode()),
            Media("get_case", "text/markdown", "With `Accept: text/markdown`: a report to be read.", "# Case …\n"),
            Media("stream_match", "text/event-stream", _STREAM, _frames(race)),
        ],
    )  # fmt: skip


def _moves(mid_match: dict[str, examples.Example]) -> list[Example]:
    """Return each kind of move once, with its answer."""
    found: dict[str, Example] = {}
    for game, example in mid_match.items():
        for command, answer in examples.answers(example):
            move: dict[str, Any] = msgspec.to_builtins(command.move)
            name = f"{move['type']}-in-{game}"
            summary = f"{move['type'].capitalize()} in {game}"
            found.setdefault(name, Example("make_move", name, summary, {"move": move}, answer))
    return list(found.values())


def _chance() -> list[Example]:
    commitment = "3f1d0c5be0f6a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5"
    options = msgspec.to_builtins(CATALOGUE.newest()[0].options())
    seats = [{"player": _PLAYER, "seed": "luck-of-Anna"}, {"player": "p_01KB9YQ04N6P8R0T2V4X6Z8A0C"}]
    return [
        Example("list_commitments", "open", "One that is not revealed yet", answer={
            "items": [{
                "number": 42, "match_id": examples.MATCH, "commitment": commitment, "state": "open", "seed": None,
            }],
            "next": None,
        }),
        Example("commit", "race", "For a table of two", {"game": "dice-race", "seats": 2}, {
            "match_id": examples.MATCH, "commitment": commitment, "number": 42, "game": "dice-race", "rules_version": 1,
            "options": options, "turn_seconds": None, "house_rules": False,
        }),
        Example("start_match", "race", "Two people at a table", {
            "match_id": examples.MATCH, "table_id": examples.TABLE, "game": "dice-race", "options": options,
            "seats": seats, "rated": True,
        }, {"match_id": examples.MATCH, "version": 4}),
    ]  # fmt: skip


def _line(example: examples.Example) -> str:
    return msgspec.json.encode(example.page(0, 1).items[0]).decode() + "\n"


def _frames(example: examples.Example) -> str:
    view = msgspec.json.encode(example.view(0)).decode()
    return f"retry: 1000\n\nevent: snapshot\nid: {example.head.version}\ndata: {view}\n\n"
