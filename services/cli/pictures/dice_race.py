"""dice-race in the terminal: who has what, the dice of the turn, and how far it is to the target."""

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.pictures.dice import dice_in_a_row
from services.contracts.events.base import Fact
from services.contracts.events.chance import ChanceCommitted, ChanceRevealed
from services.contracts.events.chips import Staked
from services.contracts.events.dice import Busted, Rolled, Stood
from services.contracts.events.match import PlayerEliminated
from services.engine.rules.games.dice_race import PlayerView, View

CHIPS_DRAWN_MAX: Final = 20


def draw(view: View, facts: Sequence[Fact]) -> RenderableType:
    """Return the table."""
    dice = _dice(view, facts)
    return Group(_players(view), _middle(view), *([dice] if dice else []))


def _players(view: View) -> Table:
    turn = view.to_play[0] if view.to_play else None
    table = Table(box=box.ROUNDED, border_style="dim")
    for heading in ("", "Seat", "Chips", "", "Score", "Place"):
        table.add_column(heading, justify="right" if heading in {"Seat", "Score", "Place"} else "left")
    for player in view.players:
        on_turn = player.seat == turn
        table.add_row(
            "▶" if on_turn else "", str(player.seat), str(player.chips), _chips(player.chips), _score(view, player),
            str(player.place or ""),
            style="bold" if on_turn else "dim" if player.place else "",
        )  # fmt: skip
    return table


def _score(view: View, player: PlayerView) -> str:
    """Tell a turn that is still to come from one that brought nothing."""
    if player.score:
        return str(player.score)
    return "·" if player.seat in view.to_play else ""


def _chips(chips: int) -> str:
    return "●" * chips if chips <= CHIPS_DRAWN_MAX else "●" * CHIPS_DRAWN_MAX + "…"


def _middle(view: View) -> Text:
    name = "extra round" if view.kind == "extra" else "round"
    parts = [f"{name} {view.round}" if view.round else "before the first round", f"target {view.target}"]
    if view.playoff:
        parts.insert(1, "playoff")
    if view.pot:
        parts.append(f"pot {view.pot} {_chips(view.pot)}")
    return Text(", ".join(parts))


def _dice(view: View, facts: Sequence[Fact]) -> Text | None:
    faces = _dice_of_the_turn(facts)
    if not faces:
        return None
    total = f"  total {view.total}" if view.total else f"  {sum(faces)}"
    rows = dice_in_a_row(faces).split("\n")
    rows[2] += total
    return Text("\n".join(rows))


def _dice_of_the_turn(facts: Sequence[Fact]) -> list[int]:
    """Return all dice that the turn has brought so far, or brought when the last fact ended it."""
    faces: list[int] = []
    seat = None
    for fact in reversed(facts):
        match fact:
            case Rolled() if seat in {None, fact.seat}:
                faces = [*fact.draw.result, *faces]
                seat = fact.seat
            case Busted() | Stood() if seat is None and not faces:
                seat = fact.seat
            case Staked(reason="danger") | PlayerEliminated() | ChanceCommitted() | ChanceRevealed():
                continue
            case _:
                break
    return faces
