"""What was used lately, kept in memory: at most so many, and nothing that nobody has asked for in a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

Kept = TypeVar("Kept")

IDLE_SECONDS: Final = 600.0
"""What nobody has asked for in so long is forgotten: memory follows what goes on, and not all that ever went on."""


class Lately(Generic[Kept]):
    """Values by name, in the order in which they were used last.

    Args:
        most: how many are kept; where there are more, those go that were silent for longest.
        in_use: whether a value must not be forgotten just now.
        now: a clock in seconds.
    """

    def __init__(
        self,
        most: int,
        in_use: Callable[[Kept], bool] = lambda _: False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._in_use = in_use
        self._now = now
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._used: dict[str, float] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._kept)

    def get(self, name: str) -> Kept | None:
        """Return a value, which is thereby used, or None."""
        value = self._kept.get(name)
        if value is not None:
            self._kept.move_to_end(name)
            self._used[name] = self._now()
        return value

    def keep(self, name: str, value: Kept) -> None:
        """Keep a value, in the place of another of that name; what it is time to forget is forgotten now."""
        self._kept[name] = value
        self._kept.move_to_end(name)
        self._used[name] = self._now()
        too_many, idle_since = len(self._kept) - self._most, self._used[name] - IDLE_SECONDS
        forgotten: list[str] = []
        for one, its in self._kept.items():
            if len(forgotten) >= too_many and self._used[one] > idle_since:
                break
            if not self._in_use(its):
                forgotten.append(one)
        for one in forgotten:
            self.forget(one)

    def forget(self, name: str) -> None:
        """Forget a value, if it is here."""
        self._kept.pop(name, None)
        self._used.pop(name, None)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._used.clear()
