"""dice-race in the terminal: who has what, the dice of the turn, and how far it is to the target."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures.dice import turn_in_dice
from services.cli.pictures.seats import TO_COME, Row, chips_drawn, number, seats_table
from services.contracts.events.base import Fact
from services.engine.rules.games.dice_race import PlayerView, View


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    dice = turn_in_dice(facts)
    return Group(_players(view), _middle(view), *([dice] if dice else []))


def _players(view: View) -> Table:
    turn = view.to_play[0] if view.to_play else None
    return seats_table(
        (">Seat", ">Chips", "", ">Score", ">Place"),
        (
            Row(
                (
                    str(player.seat), str(player.chips), chips_drawn(player.chips), _score(view, player),
                    number(player.place),
                ),
                on_turn=player.seat == turn,
                out=bool(player.place),
            )
            for player in view.players
        ),
    )  # fmt: skip


def _score(view: View, player: PlayerView) -> str:
    """Tell a turn that is still to come from one that brought nothing."""
    if player.score:
        return str(player.score)
    return TO_COME if player.seat in view.to_play else ""


def _middle(view: View) -> Text:
    name = "extra round" if view.kind == "extra" else "round"
    parts = [f"{name} {view.round}" if view.round else "before the first round", f"target {view.target}"]
    if view.playoff:
        parts.insert(1, "playoff")
    if view.pot:
        parts.append(f"pot {view.pot} {chips_drawn(view.pot)}")
    return Text(", ".join(parts))
