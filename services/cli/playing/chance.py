"""Chance from a few letters: the same seed gives the same match, as long as the same moves are made."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from random import Random

from services.runtime.clock import Entropy


def entropy_of(seed: str) -> Entropy:
    """Return bytes that follow from a seed, other ones at every call."""
    blocks = (sha256(f"macao play:{seed}:{number}".encode()).digest() for number in count())

    def entropy(size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += next(blocks)
        return data[:size]

    return entropy


def whims_of(seed: str) -> Random:
    """Return what random movers choose by. It is apart from dice and cards: these are drawn as the service draws."""
    return Random(f"macao play:{seed}")  # noqa: S311 - nothing has to be kept from anybody here
