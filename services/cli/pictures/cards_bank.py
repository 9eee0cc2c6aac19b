"""cards-bank in the terminal: chips and stakes, who holds the bank, and the cards before each player."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures.cards import cards_in_line
from services.cli.pictures.seats import TO_COME, Row, number, seats_table
from services.contracts.events.base import Fact
from services.engine.rules.cards import HIDDEN
from services.engine.rules.games.cards_bank import PlayerView, View
from services.engine.words.naming import count


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    del facts
    return Group(_players(view), _middle(view))


def _players(view: View) -> Table:
    waiting = view.to_stake or view.to_act
    return seats_table(
        (">Seat", "", ">Chips", ">Stake", "Cards", ">Total", ">Place"),
        (
            Row(
                (
                    str(player.seat), "bank" if player.seat == view.bank else "", str(player.chips),
                    number(player.stake) or (TO_COME if player.seat in view.to_stake else ""), _cards(player),
                    "" if player.total is None else str(player.total), number(player.place),
                ),
                on_turn=player.seat in waiting[:1],
                out=bool(player.place),
            )
            for player in view.players
        ),
    )  # fmt: skip


def _cards(player: PlayerView) -> Text:
    cards = cards_in_line([card for card in (player.first, player.second) if card])
    if player.first and player.first != HIDDEN and not player.shown:
        cards.append(" (face down)" if player.second is None else " (first face down)", "dim")
    return cards


def _middle(view: View) -> Text:
    if not view.coup:
        return Text("before the first coup")
    stock = count(view.stock, "card")
    return Text(f"coup {view.coup} of {view.coups}, Seat {view.bank} holds the bank, {stock} in the stock")
