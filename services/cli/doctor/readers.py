"""Who reads the log: how far each of them is."""

from __future__ import annotations

from typing import Final

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.contracts.ids import DEFAULT_LOG
from services.projections.catalogue import PROJECTIONS
from services.runtime.log.event_log import schema_of

LAG_SECONDS: Final = 60.0
SILENT_SECONDS: Final = 15.0

_SQL: Final = """
SELECT at.name, at.state, at.last_error, at.parked, tail.position - at.position AS behind,
    extract(epoch FROM clock_timestamp() - at.heartbeat_at)::float8 AS silent,
    coalesce(extract(epoch FROM clock_timestamp() - next.recorded_at), 0)::float8 AS lag
FROM {log}.subscriptions AS at
CROSS JOIN (SELECT coalesce(max(position), 0) AS position FROM {log}.events) AS tail
LEFT JOIN {log}.events AS next ON next.position = at.position + 1
WHERE at.version = (SELECT max(version) FROM {log}.subscriptions AS other WHERE other.name = at.name)
ORDER BY at.name, at.slice
"""


async def subscriptions(patient: Patient) -> list[Finding]:
    """Every reader runs, is near the end, and leaves nothing out."""
    rows = await patient.rows(_SQL.replace("{log}", schema_of(DEFAULT_LOG)))
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
        elif row["lag"] > LAG_SECONDS:
            findings.append(
                warning(
                    "readers", f"{name} is {row['behind']:,} events behind, {row['lag']:.0f} s",
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


def _service(name: str, projections: set[str]) -> str:
    if name in projections:
        return "projections service"
    return "engine" if name.startswith("engine-") else "lobby"
