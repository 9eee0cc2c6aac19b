"""What a limit says, and what it comes to for one request."""

from __future__ import annotations

from msgspec import Struct


class Policy(Struct, frozen=True):
    """So many in a window: at once at most, and as many again in each window that follows.

    Attributes:
        name: as it stands in the headers and in Redis.
        quota: how many; 0: no limit.
        window_seconds: in how long.
    """

    name: str
    quota: int
    window_seconds: int = 60


class Verdict(Struct, frozen=True):
    """What a limit says of one request.

    Attributes:
        allowed: whether it may go on.
        remaining: how many more may follow at once.
        full_seconds: when the whole quota is there again.
        retry_seconds: when the next may come; 0 where it may come at once.
    """

    allowed: bool
    remaining: int
    full_seconds: float
    retry_seconds: float
