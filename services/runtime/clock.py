"""Time and chance, as arguments: whoever needs them is given them, so that tests can give others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

Entropy = Callable[[int], bytes]
"""Returns so many bytes that nobody can predict."""


class Clock(Protocol):
    """Tells the time of day."""

    def now_ms(self) -> int:
        """Return the Unix time in milliseconds."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Return the Unix time in milliseconds."""
        return time.time_ns() // 1_000_000


def system_entropy(count: int) -> bytes:
    """Return ``count`` bytes from the operating system's generator."""
    return os.urandom(count)
