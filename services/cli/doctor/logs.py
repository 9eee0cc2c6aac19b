"""The logs, where there are several: each can be reached, is written to, and is read on in the one order."""

from __future__ import annotations

from typing import Any, Final

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import LivingLog, Patient
from services.contracts.ids import DEFAULT_LOG
from services.runtime.logs.order import Taken, taken

NOT_READ_SECONDS: Final = 60.0


async def logs(patient: Patient) -> list[Finding]:
    """Every log is where the list says, takes appends, and holds what was read of it."""
    known = await patient.logs()
    findings = [
        failure(
            "logs", f"{name} cannot be looked at: {why}",
            "Mend MACAO_LOG_SERVERS, start that server, or restore its backup: docs/several-logs.md.",
        )
        for name, why in patient.unreachable.items()
    ]  # fmt: skip
    several = len(known) + len(patient.unreachable) > 1
    at = {one.log: one for one in await taken(patient.connection)} if several else {}
    for one in known:
        findings += await _fenced(one)
        if several:
            findings += await _read(one, at[one.name])
    return findings or [well("logs", _all_well([one.name for one in known]))]


async def _fenced(one: LivingLog) -> list[Finding]:
    fenced: bool = await one.connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'fenced' AND tgrelid = $1::regclass)",
        f"{one.schema}.events",
    )
    if not fenced:
        return []
    return [
        failure(
            "logs", f"{one.name} is fenced: nothing is written to it",
            f"If nobody is moving it at this moment, run the move again, or macao logs unfence {one.name}.",
        )
    ]  # fmt: skip


async def _read(one: LivingLog, at: Taken) -> list[Finding]:
    """Look at how far a log stands in the reading order."""
    here: Any = await one.connection.fetchrow(
        "SELECT (SELECT coalesce(max(position), 0) FROM {log}.events) AS head,"
        " (SELECT hash FROM {log}.events WHERE position = $1) AS hash,"
        " (SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8 FROM {log}.events"
        " WHERE position = $1::bigint + 1) AS seconds".replace("{log}", one.schema),
        at.position,
    )
    if at.position and here["hash"] != at.hash:
        return [
            failure(
                "logs",
                f"{one.name} does not hold the event at its position {at.position:,} that was read: it lost its tail",
                f"Look for what was lost; then macao logs mend {one.name} (runbook: LogLostTail).",
            )
        ]
    if here["seconds"] is not None and here["seconds"] > NOT_READ_SECONDS:
        return [
            warning(
                "logs",
                f"{here['head'] - at.position:,} events of {one.name} are not read, the oldest for"
                f" {here['seconds']:.0f} s",
                "An engine or the lobby keeps the reading order: is one up, and what does its log say?",
            )
        ]
    return []


def _all_well(names: list[str]) -> str:
    if names == [DEFAULT_LOG]:
        return "there is one"
    return f"{', '.join(names)} can be reached and are read"
