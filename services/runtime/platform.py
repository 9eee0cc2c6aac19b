"""What one process shares among the services it runs: settings, database, event log, doorbell, tokens, names."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final, Self

from litestar.types import ASGIApp
from prometheus_client import CollectorRegistry, ProcessCollector

from services.runtime.bus import Bell
from services.runtime.clock import Clock, Entropy, SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.handover import HandOver
from services.runtime.limits import Limiter, Meter, Policy, Proxies, exchanging
from services.runtime.log import EventLog
from services.runtime.log.counts import AppendCounts
from services.runtime.log.tails import LostTails, Witness
from services.runtime.logs import SpreadLog
from services.runtime.players import Players
from services.runtime.settings import Settings, SettingsError
from services.runtime.tokens.tokens import Tokens
from services.runtime.traces import Traces
from services.runtime.vault import Vault


class Platform:
    """Built before anything is open, so that services can be wired; opened and closed by the app's lifespan.

    Attributes:
        handover: hands what this process commits to the streams that it serves.
        traces: makes spans of what is done; None where nobody collects them.
        registry: what this process counts, for Prometheus; of its own, so that tests and composed apps do not mix.
        lost_tails: which logs have lost their tail, as this process sees it.
        app: the composed app itself, through which services of one process reach each other's endpoints.
        unfit: why the process did not come to serve, where a setting is to blame.
        stopping: set as soon as the process is told to end, before anything closes: open streams end on it.
    """

    def __init__(
        self, settings: Settings, *, clock: Clock | None = None, entropy: Entropy = system_entropy
    ) -> None:
        """Wire everything.

        Raises:
            SettingsError: the secret key is malformed, or a setting cannot be used.
        """
        self.settings: Final = settings
        self.clock: Final[Clock] = clock or SystemClock()
        self.entropy: Final = entropy
        self.vault: Final = Vault(settings.secret_key, entropy)
        self.traces: Final = Traces(settings.traces_url) if settings.traces_url else None
        self.database: Final = Database(settings)
        self.bell: Final = Bell(settings)
        self.handover: Final = HandOver()
        self.registry: Final = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        lost_tails = self.lost_tails = LostTails(self.registry)
        self.log: Final[EventLog] = SpreadLog(
            self.database,
            self.bell,
            counts=AppendCounts(self.registry),
            traces=self.traces,
            told=lambda log, lost: lost_tails.tell(log, Witness.ORDER, lost=lost),
        )
        self.tokens: Final = Tokens(self.database, self.vault, self.clock, entropy, self.bell)
        self.limiter: Final = Limiter(settings.redis_url)
        # Two meters: who speaks with a token, and everybody by address.
        self.caller_meter: Final = Meter(Policy("caller", settings.requests_per_caller), self.limiter)
        self.address_meter: Final = Meter(Policy("address", settings.requests_per_address), self.limiter)
        self.proxies: Final = Proxies(settings.trusted_proxies)
        self.players: Final = Players(self.database)
        self.unfit: SettingsError | None = None
        self.stopping: Final = asyncio.Event()
        self.app: ASGIApp | None = None
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open everything, in order."""
        async with AsyncExitStack() as stack:
            if self.traces is not None:
                await stack.enter_async_context(self.traces)
            await stack.enter_async_context(self.database)
            await stack.enter_async_context(self.bell)
            await stack.enter_async_context(self.log)
            await self.tokens.open()
            await stack.enter_async_context(self.tokens.working())
            stack.push_async_callback(self.limiter.close)
            await stack.enter_async_context(exchanging(self.caller_meter, self.address_meter))
            self._open = stack.pop_all()
        self.stopping.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close everything, in the opposite order."""
        self.stopping.set()
        await self._open.aclose()
