"""Rate limits, shared by processes through Redis, kept by each alone while Redis is away.

``policy.py`` what a limit says; ``steady.py`` the reckoning, pure; ``limiter.py`` where it is kept; ``meter.py`` the
same for every request, at no cost to any; ``addresses.py`` whose requests they are.
"""

from services.runtime.limits.addresses import Proxies
from services.runtime.limits.limiter import Limiter
from services.runtime.limits.meter import Meter, exchanging
from services.runtime.limits.policy import Policy, Verdict

__all__ = ["Limiter", "Meter", "Policy", "Proxies", "Verdict", "exchanging"]
