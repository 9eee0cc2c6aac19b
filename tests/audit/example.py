"""The example of docs/record.md: one short match in a short log, the same bytes at every run.

``python -m tests.audit.example`` writes docs/record-example.ndjson anew. Read the difference before you keep it: a
changed byte means that records which people hold can no longer be read as they were.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.games.dice_race import Roll, Stand
from tests.audit.logs import leaves_of, receipt_of
from tests.audit.play import record, sit_down

FILE: Final = Path(__file__).resolve().parents[2] / "docs/record-example.ndjson"
STAND_FROM: Final = 6
BEFORE, AFTER = 4, 3
"""How many events of others stand in the log in front of the match, and behind it."""


def lines() -> list[bytes]:
    """One round for one chip; both roll until they have six or more."""
    table = sit_down(CATALOGUE, "dice-race", {"chips_to_win": 1})
    while not table.match.over:
        game = table.match.game
        table.move(game.to_play[0], Stand() if game.total >= STAND_FROM else Roll())
    leaves = leaves_of(table.events, BEFORE, AFTER)
    return record(table.events, receipt=receipt_of(leaves, BEFORE + len(table.events)))


if __name__ == "__main__":
    FILE.write_bytes(b"".join(lines()))
