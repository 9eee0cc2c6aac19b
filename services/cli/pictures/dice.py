"""Dice as they lie on a table."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from services.contracts.events.bank import StakeTaken
from services.contracts.events.base import Fact
from services.contracts.events.chance import ChanceCommitted, ChanceRevealed
from services.contracts.events.chips import Staked
from services.contracts.events.dice import Busted, Rolled, Stood
from services.contracts.events.match import PlayerEliminated
from services.engine.words.naming import seat_name

DICE_IN_A_ROW: Final = 8

# The dots of each face, row by row: left, middle, right.
FACES: Final = {
    1: ("   ", " ● ", "   "),
    2: ("●  ", "   ", "  ●"),
    3: ("●  ", " ● ", "  ●"),
    4: ("● ●", "   ", "● ●"),
    5: ("● ●", " ● ", "● ●"),
    6: ("● ●", "● ●", "● ●"),
}


def dice_in_a_row(faces: Sequence[int]) -> str:
    """Return dice side by side, five lines high; only the last ones when there are many."""
    shown = faces[-DICE_IN_A_ROW:]
    rows = [" ".join("┌───────┐" for _ in shown)]
    rows += (" ".join(f"│ {' '.join(FACES[face][row])} │" for face in shown) for row in range(3))
    rows.append(" ".join("└───────┘" for _ in shown))
    return "\n".join(rows)


def turn_in_dice(facts: Sequence[Fact]) -> Text | None:
    """Return the dice of the last turn, whose they are, and their total; None where something else came after it."""
    faces = _dice_of_the_turn(facts)
    if not faces:
        return None
    last = next(fact for fact in reversed(facts) if isinstance(fact, Rolled))
    rows = dice_in_a_row(faces).split("\n")
    rows[2] += f"  {seat_name(last.seat)}: {last.total}"
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
            case (
                Staked(reason="danger")
                | StakeTaken()
                | PlayerEliminated()
                | ChanceCommitted()
                | ChanceRevealed()
            ):
                continue
            case _:
                break
    return faces
