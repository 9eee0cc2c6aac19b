"""Pictures of the table for the terminal, one file a game. A game without one is shown by the names in its view."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace
from rich.console import RenderableType

from services.cli.pictures import cards_bank, cards_places, cards_points, dice_bank, dice_race, plain
from services.contracts.events.base import Fact
from services.contracts.events.match import MatchEnded

Picture = Callable[[Any, Sequence[Fact]], RenderableType]
"""Draws a view of the table; the facts up to it, as the viewer saw them, tell what has just happened."""

PICTURES: Final[Mapping[str, Picture]] = {
    "dice-race": cast("Picture", dice_race.draw),
    "dice-bank": cast("Picture", dice_bank.draw),
    "cards-bank": cast("Picture", cards_bank.draw),
    "cards-places": cast("Picture", cards_places.draw),
    "cards-points": cast("Picture", cards_points.draw),
}


END_FACTS_MAX: Final = 4
"""A match's end stands so near to its last fact: behind it only seeds are revealed."""


def draw(game: str, view: Struct, facts: Sequence[Fact]) -> RenderableType:
    """Return the table of a game as something to print."""
    return PICTURES.get(game, cast("Picture", plain.draw))(_placed(view, facts), facts)


def _placed(view: Any, facts: Sequence[Fact]) -> Any:
    """Return a view with everybody's final place once the match is over: rules give places to who went out before."""
    ended = next((fact for fact in facts[-END_FACTS_MAX:] if isinstance(fact, MatchEnded)), None)
    players = getattr(view, "players", None)
    if ended is None or not players or not hasattr(players[0], "place"):
        return view
    return replace(
        view, players=tuple(replace(player, place=ended.places[player.seat]) for player in players)
    )
