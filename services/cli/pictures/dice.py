"""Dice as they lie on a table."""

from collections.abc import Sequence
from typing import Final

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
