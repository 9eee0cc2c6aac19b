"""A sealer for each log that there is, and for each that comes to be while the process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet

from prometheus_client import CollectorRegistry

from services.runtime.bus import Bell
from services.runtime.clock import Clock
from services.runtime.log import EventLog
from services.runtime.log.tails import LostTails
from services.runtime.tasks import end
from services.runtime.tokens.keyring import Keyring
from services.runtime.tree.sealer import Sealer, SealerGauges


class Sealers:
    """Seals all logs that one log consists of; the arguments are those of ``Sealer`` and its gauges."""

    def __init__(
        self,
        log: EventLog,
        bell: Bell | None,
        keyring: Keyring,
        clock: Clock,
        urgent: AbstractSet[str],
        registry: CollectorRegistry,
        tails: LostTails,
    ) -> None:
        self._log = log
        self._bell = bell
        self._keyring = keyring
        self._clock = clock
        self._urgent = urgent
        self._gauges = SealerGauges(registry, tails)

    async def run(self) -> None:
        """Seal until cancelled."""
        working: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                for part in self._log.parts:
                    if part.name not in working:
                        sealer = Sealer(
                            part, self._bell, self._keyring, self._clock, self._urgent, self._gauges
                        )
                        working[part.name] = asyncio.create_task(sealer.run(), name=f"sealer-{part.name}")
                await asyncio.sleep(self._log.database.settings.poll_seconds)
        finally:
            await end(*working.values())
