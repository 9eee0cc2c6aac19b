"""Who reads the log: how far each of them is."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.contracts.ids import DEFAULT_LOG
from services.projections.catalogue import PROJECTIONS
from services.runtime.logs.order import stretches_after

LAG_SECONDS: Final = 60.0
SILENT_SECONDS: Final = 15.0


class _Lag(Struct, frozen=True):
    """What a reader has before it: how many events, how old the first is, and in which log it stands."""

    events: int
    seconds: float
    where: str


_SQL: Final = """
SELECT at.name, at.position, at.state, at.last_error, at.parked,
    extract(epoch FROM clock_timestamp() - at.heartbeat_at)::float8 AS silent
FROM macao_log.subscriptions AS at
WHERE at.version = (SELECT max(version) FROM macao_log.subscriptions AS other WHERE other.name = at.name)
ORDER BY at.name, at.slice
"""
"""Readers keep their places beside the main log, and read all logs."""


async def subscriptions(patient: Patient) -> list[Finding]:
    """Every reader runs, is near the end of all logs, and leaves nothing out."""
    rows = await patient.rows(_SQL)
    if not rows:
        return [
            warning(
                "readers", "nobody has read the log yet", "Start the engine, the lobby and the projections."
            )
        ]
    findings: list[Finding] = []
    known = {projection.NAME for projection in PROJECTIONS}
    for row in rows:
        name = row["name"]
        lag = await _lag(patient, row["position"])
        if row["state"] != "running":
            cure = (
                f"macao rebuild {name}"
                if name in known
                else "Mend what the error says, and restart the service."
            )
            findings.append(
                failure("readers", f"{name} is {row['state']}: {row['last_error'] or 'no error'}", cure)
            )
        elif row["silent"] > SILENT_SECONDS:
            findings.append(
                failure(
                    "readers",
                    f"nobody works on {name} since {row['silent']:.0f} s",
                    f"Is the {_service(name, known)} up?",
                )
            )
        elif lag.seconds > LAG_SECONDS:
            findings.append(
                warning(
                    "readers", f"{name} is {lag.events:,} events behind, {lag.seconds:.0f} s{lag.where}",
                    "Look again: if the number falls, it catches up; else see its log (runbook: ProjectionBehind).",
                )
            )  # fmt: skip
        if row["parked"]:
            findings.append(
                warning(
                    "readers", f"{name} leaves out {row['parked']} streams",
                    f"macao projections shows the errors; when they are mended: macao release {name}",
                )
            )  # fmt: skip
    return findings or [well("readers", f"{len(rows)} readers are up with the log")]


async def _lag(patient: Patient, position: int) -> _Lag:
    """Say what a reader has before it. Its position is one of the reading order, where there is one."""
    head, several = await patient.connection.fetchrow(
        "SELECT coalesce((SELECT max(position) FROM macao_runtime.reading_order),"
        " (SELECT max(position) FROM macao_log.events), 0), EXISTS (SELECT FROM macao_runtime.reading_order)"
    )
    at, name = position + 1, DEFAULT_LOG
    if several:
        next_stretch = await stretches_after(patient.connection, position, 1)
        if not next_stretch:
            return _Lag(0, 0.0, "")
        at, name = next_stretch[0].log_position, next_stretch[0].log
    seconds: float | None = None
    for one in await patient.logs():
        if one.name == name:
            seconds = await one.connection.fetchval(
                "SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8"  # noqa: S608 - our name
                f" FROM {one.schema}.events WHERE position = $1",
                at,
            )
    return _Lag(head - position, seconds or 0.0, f", at the log {name}" if several else "")


def _service(name: str, projections: set[str]) -> str:
    if name in projections:
        return "projections service"
    return "engine" if name.startswith("engine-") else "lobby"
