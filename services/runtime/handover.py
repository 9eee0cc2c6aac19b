"""What this process has just committed, handed to those in it who follow the stream: they need not read it again.

It comes besides the doorbell and never instead of it: who is handed nothing, or not what joins on to what it has, is
rung as before and reads. What is handed over is in the log already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Taker: TypeAlias = "Callable[[str, object], None]"
"""Told a stream, and what its service says of the commit. Must return at once, and raise nothing."""


class HandOver:
    """From those who append to those who tell."""

    def __init__(self) -> None:
        self._takers: list[Taker] = []

    def to(self, taker: Taker) -> None:
        """Hand everything to this one as well, from now on."""
        self._takers.append(taker)

    def give(self, stream: str, news: object) -> None:
        """Hand over what was committed to a stream."""
        for taker in self._takers:
            taker(stream, news)
