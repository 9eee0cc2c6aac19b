"""Games and their rules: read by anybody, the same for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import Struct

from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import AnyRules
from services.runtime.web.operations import Conditional
from services.runtime.web.problems import Problem
from services.runtime.web.reading import RARE, answer, bytes_answer
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

TEXTS: Final = Path(__file__).parents[3] / "docs" / "rules"


class GameView(Struct, frozen=True):
    """A game of the catalogue.

    Attributes:
        rules_version: the version that a match started now is played under.
        turn_seconds: the thinking time of a table that does not choose one, null for none.
        options: every option with its default value.
        options_schema: JSON Schema of the options, with ranges and defaults.
    """

    game: str
    title: str
    rules_version: int
    seats_min: int
    seats_max: int
    turn_seconds: Literal[10, 30] | None
    options: Any
    options_schema: dict[str, Any]


class GamePage(Struct, frozen=True):
    """All games; there is only one page."""

    items: tuple[GameView, ...]
    next: str | None = None


@get("/games", tags=["games"], operation_id="list_games", operation_class=Conditional, summary="All games")
async def list_games(request: Request) -> Response[GamePage]:
    """Return the catalogue."""
    page = GamePage(tuple(game_view(rules) for rules in request.the(Catalogue).newest()))
    return answer(request, page, RARE)


@get(
    "/games/{game:str}",
    tags=["games"],
    operation_id="get_game",
    operation_class=Conditional,
    responses=refusals("unknown-game"),
    summary="One game",
)
async def get_game(request: Request, game: FromPath[str]) -> Response[GameView]:
    """Return a game with the JSON Schema of its options."""
    return answer(request, game_view(_rules(request, game)), RARE)


@get(
    "/games/{game:str}/rules",
    media_type="text/markdown; charset=utf-8",
    tags=["games"],
    operation_id="get_rules",
    operation_class=Conditional,
    responses=refusals("unknown-game", "not-found"),
    summary="The rules of a game, in words",
)
async def get_rules(request: Request, game: FromPath[str]) -> Response[bytes]:
    """Return the rules as Markdown, in numbered clauses; refusals cite their numbers."""
    text = TEXTS / f"{_rules(request, game).name}.md"
    if not text.is_file():
        raise Problem("not-found", "This installation came without the texts of the rules.")
    return bytes_answer(request, text.read_bytes(), RARE, media_type="text/markdown; charset=utf-8")


def _rules(request: Request, game: str) -> AnyRules:
    rules = request.the(Catalogue).game(game)
    if rules is None:
        raise Problem("unknown-game", params={"game": game})
    return rules


def game_view(rules: AnyRules) -> GameView:
    """Show a game."""
    return GameView(
        game=rules.name,
        title=rules.title,
        rules_version=rules.version,
        seats_min=rules.seats_min,
        seats_max=rules.seats_max,
        turn_seconds=rules.turn_seconds,
        options=rules.options(),
        options_schema=msgspec.json.schema(rules.options),
    )
