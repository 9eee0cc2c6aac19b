"""Pictures of the table for the terminal, one file a game. A game without one is shown as its view in JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from services.cli.pictures import dice_race
from services.contracts.events.base import Fact

Picture = Callable[[Any, Sequence[Fact]], RenderableType]
"""Draws a view of the table; the facts up to it, as the viewer saw them, tell what has just happened."""

PICTURES: Final[Mapping[str, Picture]] = {"dice-race": cast("Picture", dice_race.draw)}


def draw(game: str, view: Struct, facts: Sequence[Fact]) -> RenderableType:
    """Return the table of a game as something to print."""
    picture = PICTURES.get(game)
    if picture is None:
        return Text(msgspec.json.format(msgspec.json.encode(view), indent=2).decode())
    return picture(view, facts)
