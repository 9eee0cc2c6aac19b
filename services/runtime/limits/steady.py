"""The reckoning of limits: one time for each subject, up to which its quota is spent (GCRA). Pure.

A request moves the time on by one part of the window, and is refused where that would be further ahead than a whole
window. So there is no moment at which everything is allowed again at once, and one number is all that is kept. The
same reckoning stands in Lua in ``limiter.py``; a test holds them against each other.
"""

from __future__ import annotations

from services.runtime.limits.policy import Policy, Verdict


def reckon(spent_until_us: int, now_us: int, policy: Policy) -> tuple[int, bool]:
    """Return up to when the quota is spent after one more request, and whether that one is allowed.

    Args:
        spent_until_us: as of the request before, in microseconds of any clock; 0 without one.
        now_us: the time of the same clock.
        policy: with a quota above 0.
    """
    window_us = policy.window_seconds * 1_000_000
    base = max(spent_until_us, now_us)
    after = base + window_us // policy.quota
    if after - now_us > window_us:
        return base, False
    return after, True


def verdict_of(spent_until_us: int, now_us: int, policy: Policy, *, allowed: bool) -> Verdict:
    """Say what the reckoning comes to."""
    window_us = policy.window_seconds * 1_000_000
    part_us = window_us // policy.quota
    ahead_us = max(0, spent_until_us - now_us)
    remaining = (window_us - ahead_us) // part_us
    wait_us = max(0, ahead_us + part_us - window_us)
    return Verdict(allowed, int(remaining), ahead_us / 1e6, 0.0 if allowed else wait_us / 1e6)
