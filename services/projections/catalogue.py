"""The one list of projections."""

from __future__ import annotations

from typing import Final

from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.leaderboards.tables import Leaderboards
from services.projections.projection import Projection
from services.projections.records.tables import Records

PROJECTIONS: Final[tuple[type[Projection], ...]] = (Board, Leaderboards, History, Records)
"""Every projection, in the order in which they are listed."""
