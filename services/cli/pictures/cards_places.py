"""cards-places in the terminal: hands, the stock and the pile, and what the next player faces."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures import shedding
from services.cli.pictures.seats import Row, number, seats_table
from services.contracts.events.base import Fact
from services.engine.rules.games.cards_places import PlayerView, View
from services.engine.words.naming import count


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    del facts
    deal = Text(f"deal {view.deal}, {view.direction}" if view.deal else "before the first deal")
    skips = [Text(f"{count(view.skips, 'turn')} to sit out", "bold yellow")] if view.skips else []
    notes = [deal, *shedding.suit_called(view.suit), *shedding.penalty(view.penalty), *skips]
    return Group(_players(view), shedding.piles(view.stock, view.pile, notes))


def _players(view: View) -> Table:
    for_points = any(player.points for player in view.players)
    return seats_table(
        (">Seat", ">Cards", "Hand", *([">Points"] if for_points else []), "", ">Place"),
        (
            Row(
                (
                    str(player.seat), number(player.cards), shedding.hand(player.cards, player.hand),
                    *([str(player.points)] if for_points else []), _note(view, player), number(player.place),
                ),
                on_turn=player.seat == view.turn,
                out=bool(player.place),
            )
            for player in view.players
        ),
    )  # fmt: skip


def _note(view: View, player: PlayerView) -> Text:
    if player.owes_call:
        return Text("silent: catch!" if player.catchable else "silent", "yellow")
    if player.turns_to_sit_out:
        return Text(f"sits out {player.turns_to_sit_out}")
    return Text("has called") if player.seat == view.turn and view.called else Text()
