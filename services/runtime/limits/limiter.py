"""Where limits are kept: in Redis, so that all processes count together; in this process while Redis is away."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from services.runtime.limits.policy import Policy, Verdict
from services.runtime.limits.steady import reckon, verdict_of

PREFIX: Final = "macao:limit"
PATIENCE_SECONDS: Final = 0.25
"""How long a request waits for Redis before it is counted here."""
AWAY_SECONDS: Final = 2.0
"""How long a Redis that failed is left alone."""
SUBJECTS_MAX: Final = 50_000
"""Subjects remembered in this process; the oldest is forgotten."""

_SCRIPT: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local window, part = tonumber(ARGV[1]), tonumber(ARGV[2])
local base = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local after = base + part
local allowed = 1
if after - now > window then
    after, allowed = base, 0
else
    redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
end
return {string.format('%.0f', after), string.format('%.0f', now), allowed}
"""

_SHARE: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local ahead = {}
for index, key in ipairs(KEYS) do
    local after = math.max(tonumber(redis.call('GET', key) or '0'), now) + tonumber(ARGV[index])
    redis.call('SET', key, string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
    ahead[index] = string.format('%.0f', after - now)
end
return ahead
"""

_logger: Final = logging.getLogger(__name__)


class Limiter:
    """Counts requests by policy and subject.

    Args:
        redis_url: where Redis is; empty: this process counts alone.
    """

    def __init__(self, redis_url: str) -> None:
        self._redis: Redis | None = None
        if redis_url:
            self._redis = Redis.from_url(
                redis_url,
                socket_connect_timeout=PATIENCE_SECONDS,
                socket_timeout=PATIENCE_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        self._script: Any = self._redis.register_script(_SCRIPT) if self._redis is not None else None
        self._share: Any = self._redis.register_script(_SHARE) if self._redis is not None else None
        self._away_until = 0.0
        self._spent: OrderedDict[str, int] = OrderedDict()

    async def close(self) -> None:
        """Close the connections."""
        if self._redis is not None:
            await self._redis.aclose()

    async def spend(self, policy: Policy, subject: str) -> Verdict:
        """Count one request and say whether it may go on. A refused one does not count."""
        key = f"{PREFIX}:{policy.name}:{subject}"
        if self._redis is not None and time.monotonic() >= self._away_until:
            try:
                return await self._spend_there(key, policy)
            except (RedisError, OSError) as error:
                self._missed(error)
        return self._spend_here(key, policy)

    async def forgive(self, policy: Policy, subject: str) -> None:
        """Forget what was counted."""
        key = f"{PREFIX}:{policy.name}:{subject}"
        self._spent.pop(key, None)
        if self._redis is not None and time.monotonic() >= self._away_until:
            try:
                await self._redis.delete(key)
            except (RedisError, OSError) as error:
                self._missed(error)

    async def share(self, policy: Policy, spent_us: Mapping[str, int]) -> list[int]:
        """Add what subjects have spent here to what all have, and return how far ahead each of them then is.

        Returns:
            Microseconds in the order of ``spent_us``; nothing where Redis is away.
        """
        if self._redis is None or time.monotonic() < self._away_until:
            return []
        try:
            ahead = await self._share(
                keys=[f"{PREFIX}:{policy.name}:{subject}" for subject in spent_us],
                args=list(spent_us.values()),
            )
        except (RedisError, OSError) as error:
            self._missed(error)
            return []
        return [int(one) for one in ahead]

    async def _spend_there(self, key: str, policy: Policy) -> Verdict:
        window_us = policy.window_seconds * 1_000_000
        after, now, allowed = await self._script(keys=[key], args=[window_us, window_us // policy.quota])
        return verdict_of(int(after), int(now), policy, allowed=bool(allowed))

    def _spend_here(self, key: str, policy: Policy) -> Verdict:
        now = time.monotonic_ns() // 1000
        after, allowed = reckon(self._spent.pop(key, 0), now, policy)
        self._spent[key] = after
        if len(self._spent) > SUBJECTS_MAX:
            self._spent.popitem(last=False)
        return verdict_of(after, now, policy, allowed=allowed)

    def _missed(self, error: Exception) -> None:
        self._away_until = time.monotonic() + AWAY_SECONDS
        _logger.warning("Redis does not count for now, this process limits alone: %s", type(error).__name__)
