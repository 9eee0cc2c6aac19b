"""dice-bank in the terminal: chips and stakes, who holds the bank, and the dice of the turn."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures.dice import turn_in_dice
from services.cli.pictures.seats import TO_COME, Row, number, seats_table
from services.contracts.events.base import Fact
from services.engine.rules.games.dice_bank import PlayerView, View


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    dice = turn_in_dice(facts)
    return Group(_players(view), _middle(view), *([dice] if dice else []))


def _players(view: View) -> Table:
    waiting = view.to_stake or view.to_roll
    return seats_table(
        (">Seat", "", ">Chips", ">Stake", ">Total", ">Place"),
        (
            Row(
                (
                    str(player.seat), "bank" if player.seat == view.bank else "", str(player.chips),
                    number(player.stake) or (TO_COME if player.seat in view.to_stake else ""),
                    _total(view, player), number(player.place),
                ),
                on_turn=player.seat in waiting[:1],
                out=bool(player.place),
            )
            for player in view.players
        ),
    )  # fmt: skip


def _total(view: View, player: PlayerView) -> str:
    if player.total:
        return str(player.total)
    return TO_COME if player.seat in view.to_roll else ""


def _middle(view: View) -> Text:
    if not view.round:
        return Text("before the first round")
    return Text(f"round {view.round} of {view.rounds}, target {view.target}, Seat {view.bank} holds the bank")
