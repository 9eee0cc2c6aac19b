"""Seats around the table, and the places that a match ends in."""

from __future__ import annotations

from collections.abc import Mapping


def clockwise(seats: int, first: int) -> tuple[int, ...]:
    """Return all seats, clockwise from ``first`` (G2)."""
    return tuple((first + step) % seats for step in range(seats))


def counter_clockwise(seats: int, first: int) -> tuple[int, ...]:
    """Return all seats, counter-clockwise from ``first``."""
    return tuple((first - step) % seats for step in range(seats))


def shared_places(results: Mapping[int, int], first: int = 1) -> dict[int, int]:
    """Rank seats by result, most first, beginning with place ``first``; equal results share: 1, 2, 2, 4 (G8)."""
    return {
        seat: first + sum(other > result for other in results.values()) for seat, result in results.items()
    }
