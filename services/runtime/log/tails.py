"""Which logs have lost their tail, as this process sees it: what an operator is woken for.

Two witnesses look, each by what it has in its hands: the reading order of several logs knows what was read, the sealer
what was signed. A log has lost its tail as soon as one of them says so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Gauge


class Witness(StrEnum):
    """Who says so."""

    ORDER = "order"
    SEAL = "seal"


class LostTails:
    """What one process tells Prometheus about the ends of its logs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauge: Final = Gauge(
            "macao_log_lost_tail",
            "1: the log does not hold all that was read or signed of it",
            ("log",),
            registry=registry,
        )
        self._said: Final[dict[str, set[Witness]]] = {}

    def tell(self, log: str, witness: Witness, *, lost: bool) -> None:
        """Take down what a witness has found last."""
        said = self._said.setdefault(log, set())
        if lost:
            said.add(witness)
        else:
            said.discard(witness)
        self._gauge.labels(log).set(bool(said))
