"""Where limits are kept: in Redis, so that all processes count together; in this process while Redis is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from services.runtime.limits.policy import Policy, Verdict
from services.runtime.limits.steady import reckon, verdict_of
from services.runtime.redis_site import UNREACHABLE, RedisSite

PREFIX: Final = "macao:limit"
PATIENCE_SECONDS: Final = 0.25
"""How long a request waits for one answer of Redis before it is counted here,"""
PATIENCE_IN_ALL_SECONDS: Final = 1.0
"""and how long in all, where a primary or a node has to be found first."""
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

_FORGET: Final = "return redis.call('DEL', KEYS[1])"

_logger: Final = logging.getLogger(__name__)


class Limiter:
    """Counts requests by policy and subject.

    Args:
        redis_url: where Redis is; empty: this process counts alone.

    Raises:
        SettingsError: the URL cannot be used.
    """

    def __init__(self, redis_url: str) -> None:
        self._site: RedisSite | None = RedisSite(redis_url, PATIENCE_SECONDS) if redis_url else None
        self._away_until = 0.0
        self._spent: OrderedDict[str, int] = OrderedDict()

    async def close(self) -> None:
        """Close the connections."""
        if self._site is not None:
            try:
                await self._site.close()
            except UNREACHABLE as error:
                _logger.debug("connections to Redis could not be closed in form: %r", error)

    async def spend(self, policy: Policy, subject: str) -> Verdict:
        """Count one request and say whether it may go on. A refused one does not count."""
        key = _key(policy, subject)
        window_us = policy.window_seconds * 1_000_000
        found = await self._run(_SCRIPT, [key], [window_us, window_us // policy.quota])
        if found is None:
            return self._spend_here(key, policy)
        after, now, allowed = found
        return verdict_of(int(after), int(now), policy, allowed=bool(allowed))

    async def forgive(self, policy: Policy, subject: str) -> None:
        """Forget what was counted."""
        key = _key(policy, subject)
        self._spent.pop(key, None)
        await self._run(_FORGET, [key], [])

    async def share(self, policy: Policy, spent_us: Mapping[str, int]) -> list[int]:
        """Add what subjects have spent here to what all have, and return how far ahead each of them then is.

        Returns:
            Microseconds in the order of ``spent_us``; nothing where Redis is away.
        """
        keys = [_key(policy, subject) for subject in spent_us]
        ahead = await self._run(_SHARE, keys, list(spent_us.values()))
        return [] if ahead is None else [int(one) for one in ahead]

    async def _run(self, script: str, keys: Sequence[str], arguments: Sequence[int]) -> Any:
        """Run a script; return None while Redis is away.

        The script goes with every call: after a failover nobody has to find out who knows it and who does not.
        """
        if self._site is None or time.monotonic() < self._away_until:
            return None
        client: Any = self._site.client
        try:
            async with asyncio.timeout(PATIENCE_IN_ALL_SECONDS):
                return await client.eval(script, len(keys), *keys, *arguments)
        except UNREACHABLE as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            _logger.warning(
                "Redis does not count for now, this process limits alone: %s: %s", type(error).__name__, error
            )
            return None

    def _spend_here(self, key: str, policy: Policy) -> Verdict:
        now = time.monotonic_ns() // 1000
        after, allowed = reckon(self._spent.pop(key, 0), now, policy)
        self._spent[key] = after
        if len(self._spent) > SUBJECTS_MAX:
            self._spent.popitem(last=False)
        return verdict_of(after, now, policy, allowed=allowed)


def _key(policy: Policy, subject: str) -> str:
    """Name a counter. The braces keep those of a policy in one slot of a cluster: one script sees several."""
    return f"{PREFIX}:{{{policy.name}}}:{subject}"
