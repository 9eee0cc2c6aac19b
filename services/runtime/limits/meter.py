"""Limits on every request, without a question to Redis in the way of any of them.

Each process counts by itself, and once a second tells Redis what was spent here and learns what was spent everywhere.
So the processes share one quota, late by a second at most: that is how much more than the quota a client can get who
speaks to all of them at once. Limits that must hold to the last request (passwords, guests) use ``Limiter``.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from services.runtime.limits.limiter import Limiter
from services.runtime.limits.policy import Policy, Verdict
from services.runtime.limits.steady import reckon, verdict_of
from services.runtime.tasks import end

SUBJECTS_MAX: Final = 50_000
"""Subjects remembered; the one that was silent for longest is forgotten."""
EXCHANGE_SECONDS: Final = 1.0
EXCHANGE_MAX: Final = 1_000
"""Subjects of one exchange with Redis; the rest follow with the next."""


class Meter:
    """Counts the requests of subjects under one policy."""

    def __init__(self, policy: Policy, limiter: Limiter) -> None:
        self.policy: Final = policy
        self._limiter = limiter
        self._part_us = policy.window_seconds * 1_000_000 // max(1, policy.quota)
        self._until_us: OrderedDict[str, int] = OrderedDict()
        self._unshared_us: dict[str, int] = {}

    def spend(self, subject: str) -> Verdict:
        """Count one request, and say whether it may go on. A refused one does not count."""
        now_us = time.monotonic_ns() // 1000
        after_us, allowed = reckon(self._until_us.pop(subject, 0), now_us, self.policy)
        self._until_us[subject] = after_us
        if allowed:
            self._unshared_us[subject] = self._unshared_us.get(subject, 0) + self._part_us
        if len(self._until_us) > SUBJECTS_MAX:
            self._unshared_us.pop(self._until_us.popitem(last=False)[0], None)
        return verdict_of(after_us, now_us, self.policy, allowed=allowed)

    async def exchange(self) -> None:
        """Tell the other processes what was spent here, and take over what was spent in all of them."""
        told = dict(list(self._unshared_us.items())[:EXCHANGE_MAX])
        if not told:
            return
        shared = await self._limiter.share(self.policy, told)
        now_us = time.monotonic_ns() // 1000
        for (subject, spent_us), ahead_us in zip(told.items(), shared, strict=False):
            left_us = self._unshared_us.get(subject, 0) - spent_us
            if left_us > 0:
                self._unshared_us[subject] = left_us
            else:
                self._unshared_us.pop(subject, None)
            if subject in self._until_us:
                # What was spent here during the exchange comes on top; it is told the next time.
                self._until_us[subject] = now_us + ahead_us + max(0, left_us)


@asynccontextmanager
async def exchanging(*meters: Meter) -> AsyncIterator[None]:
    """Exchange with the other processes while open."""

    async def run() -> None:
        while True:
            await asyncio.sleep(EXCHANGE_SECONDS)
            for meter in meters:
                await meter.exchange()

    task = asyncio.create_task(run(), name="limits")
    try:
        yield
    finally:
        await end(task)
