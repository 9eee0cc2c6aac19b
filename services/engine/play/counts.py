"""What the engine counts of matches for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_LATE_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0)


class Counts:
    """Moves by what became of them, and how late clocks are noticed that have run out."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._moves = Counter(
            "macao_moves", "Moves by game and outcome: accepted, replayed, or the code of the refusal",
            ("game", "outcome"), registry=registry,
        )  # fmt: skip
        self._children: dict[tuple[str, str], Counter] = {}
        """By game and outcome: `labels()` takes a lock and builds a key each time."""
        self._late = Histogram(
            "macao_clock_late_seconds", "From the end of a player's time to the elimination",
            buckets=_LATE_SECONDS, registry=registry,
        )  # fmt: skip

    def move(self, game: str, outcome: str) -> None:
        """Count a move of somebody who sits in a match."""
        child = self._children.get((game, outcome))
        if child is None:
            child = self._children[game, outcome] = self._moves.labels(game, outcome)
        child.inc()

    def expired(self, late_ms: int) -> None:
        """Count a clock that ran out."""
        self._late.observe(late_ms / 1000)
