"""What the append path counts for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram

_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 1.0, 5.0)


class AppendCounts:
    """How large batches are, how long they take, and how much waits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._commands = Histogram(
            "macao_append_batch_commands", "Commands in one batch", buckets=_SIZES, registry=registry
        )
        self._seconds = Histogram(
            "macao_append_batch_seconds", "From sending a batch to its outcomes", buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip
        self._waiting = Gauge("macao_append_waiting", "Commands that wait for a writer", registry=registry)
        self._queues: list[Callable[[], int]] = []
        self._waiting.set_function(lambda: sum(length() for length in self._queues))

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Have one more queue asked for its length whenever somebody looks."""
        self._queues.append(length)

    def batch(self, commands: int, seconds: float) -> None:
        """Count a batch that has its outcomes."""
        self._commands.observe(commands)
        self._seconds.observe(seconds)
