"""The projections' metrics, read from the checkpoints whenever somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from prometheus_client import Gauge

from services.projections.health import ProjectionHealth, State, health_of
from services.projections.projection import Projection
from services.runtime.platform import Platform

_BY_NAME: Final = ("projection",)


class ProjectionGauges:
    """One set of gauges, labelled by projection."""

    def __init__(self, platform: Platform, projections: Sequence[Projection]) -> None:
        self._platform = platform
        self._projections = projections
        prefix, registry = "macao_projection", platform.registry
        self._state = Gauge(
            f"{prefix}_state",
            "1 for the state that the projection is in",
            ("projection", "state"),
            registry=registry,
        )
        self._version = Gauge(f"{prefix}_version", "Version of its tables", _BY_NAME, registry=registry)
        self._position = Gauge(
            f"{prefix}_position", "Position of the log that is worked off", _BY_NAME, registry=registry
        )
        self._lag = Gauge(f"{prefix}_lag_events", "Events not worked off", _BY_NAME, registry=registry)
        self._lag_seconds = Gauge(
            f"{prefix}_lag_seconds", "Age of the oldest event not worked off", _BY_NAME, registry=registry
        )
        self._parked = Gauge(
            f"{prefix}_parked_streams", "Streams left out because of an event", _BY_NAME, registry=registry
        )
        self._silent = Gauge(
            f"{prefix}_silent_seconds", "Since its leader showed that it lives", _BY_NAME, registry=registry
        )
        self._rebuilding = Gauge(
            f"{prefix}_rebuilding", "1 while its tables are built anew", _BY_NAME, registry=registry
        )
        self._rebuild_position = Gauge(
            f"{prefix}_rebuild_position", "How far the last rebuild has come", _BY_NAME, registry=registry
        )

    async def refresh(self) -> None:
        """Read how the projections are."""
        async with self._platform.database.pool.acquire() as connection:
            for projection in self._projections:
                self._show(await health_of(connection, self._platform.log, projection))

    def _show(self, health: ProjectionHealth) -> None:
        name = health.name
        for state in get_args(State):
            self._state.labels(name, state).set(state == health.state)
        self._version.labels(name).set(health.version)
        self._position.labels(name).set(health.position)
        self._lag.labels(name).set(health.lag_positions)
        self._lag_seconds.labels(name).set(health.lag_seconds)
        self._parked.labels(name).set(health.parked)
        self._silent.labels(name).set(health.silent_seconds or 0.0)
        rebuild = health.rebuild
        self._rebuilding.labels(name).set(rebuild is not None and rebuild.state in {"waiting", "running"})
        self._rebuild_position.labels(name).set(0 if rebuild is None else rebuild.position)
