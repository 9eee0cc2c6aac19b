"""cards-points in the terminal: hands and losses, the stock and the pile."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures import shedding
from services.cli.pictures.seats import Row, number, seats_table
from services.contracts.events.base import Fact
from services.engine.rules.games.cards_points import PlayerView, View


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    del facts
    deal = Text(f"deal {view.deal}, Seat {view.dealer} deals" if view.deal else "before the first deal")
    notes = [deal, *shedding.suit_called(view.suit), *shedding.penalty(view.penalty)]
    return Group(_players(view), shedding.piles(view.stock, view.pile, notes))


def _players(view: View) -> Table:
    return seats_table(
        (">Seat", ">Cards", "Hand", ">Lost", "", ">Place"),
        (
            Row(
                (
                    str(player.seat), number(player.cards), shedding.hand(player.cards, player.hand),
                    str(player.losses), _note(view, player), number(player.place),
                ),
                on_turn=player.seat == view.turn,
                out=bool(player.place),
            )
            for player in view.players
        ),
    )  # fmt: skip


def _note(view: View, player: PlayerView) -> Text:
    if player.owes_call:
        return Text("silent", "yellow")
    if player.seat in view.out:
        return Text("out")
    return Text("has drawn") if player.seat == view.turn and view.drew else Text()
