"""The log: samples of its chains, its numbering, and whether it still is the one that was signed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec.structs import replace

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.contracts.chain import GENESIS, seal_of
from services.contracts.checkpoint import Checkpoint
from services.runtime.log import EventLog
from services.runtime.tree.outside import OutsideFile, UnreadableLine
from services.runtime.tree.signing import is_signed
from services.runtime.tree.store import MissingNodeError, TreeStore

STREAMS: Final = 20
EVENTS_MAX: Final = 2_000
"""So many events of a stream are looked at."""
TAIL: Final = 1_000
SEAL_LAG_SECONDS: Final = 120.0

Look = Callable[[Patient, Any, EventLog], Awaitable[list[Finding]]]
"""Looks at one log, by a connection to where it lives."""


async def chains(patient: Patient) -> list[Finding]:
    """Streams picked by chance are whole: each event has its hash and follows the one before, up to the head."""
    return await _in_each_log(patient, _chains)


async def numbering(patient: Patient) -> list[Finding]:
    """The last events are numbered without a gap."""
    return await _in_each_log(patient, _numbering)


async def checkpoints(patient: Patient) -> list[Finding]:
    """The newest checkpoint is signed, and signs the log that is there; the file outside says the same."""
    return await _in_each_log(patient, _checkpoints)


async def _in_each_log(patient: Patient, look: Look) -> list[Finding]:
    """Look at every log where it lives; those that cannot be reached are told of by themselves."""
    findings: list[Finding] = []
    for one in await patient.logs():
        found = await look(patient, one.connection, one.log)
        findings += [replace(each, subject=f"{each.subject}{one.of}") for each in found]
    return findings


async def _chains(_: Patient, connection: Any, log: EventLog) -> list[Finding]:
    streams = await connection.fetch(
        f"SELECT id, version, hash FROM {log.schema}.streams ORDER BY random() LIMIT {STREAMS}"  # noqa: S608
    )
    seen = 0
    for stream in streams:
        previous, version = GENESIS, 0
        for recorded in await log.read_stream(stream["id"], 0, EVENTS_MAX, connection=connection):
            event = recorded.event
            version += 1
            sealed = (
                event.sealed is None or event.salt is None or seal_of(event.salt, event.sealed) == event.seal
            )
            if (
                (event.version, event.previous) != (version, previous)
                or event.recomputed_hash() != event.hash
                or not sealed
            ):
                return [_broken(stream["id"], version)]
            previous = event.hash
        if version < EVENTS_MAX and (version, previous) != (stream["version"], stream["hash"]):
            return [_broken(stream["id"], version + 1)]
        seen += version
    return [well("chains", f"{len(streams)} streams picked by chance are whole, {seen:,} events")]


async def _numbering(_: Patient, connection: Any, log: EventLog) -> list[Finding]:
    row = await connection.fetchrow(
        f"SELECT count(*), count(DISTINCT position), min(position), max(position) FROM"  # noqa: S608
        f" (SELECT position FROM {log.schema}.events ORDER BY position DESC LIMIT {TAIL}) AS tail"
    )
    count, numbers, first, last = row
    wrong = ""
    if numbers != count:
        wrong = "some stand twice"
    elif count and last - first + 1 != count:
        wrong = "some are missing"
    if wrong:
        return [
            failure(
                "numbering", f"between the positions {first:,} and {last:,} {wrong}",
                "Stop writing, keep the database as it is, run macao audit --all.",
            )
        ]  # fmt: skip
    return [well("numbering", f"{last or 0:,} events, the last {count:,} without a gap")]


async def _checkpoints(patient: Patient, connection: Any, log: EventLog) -> list[Finding]:
    store = TreeStore(log.name, log.schema)
    newest = await store.newest(connection)
    head = await log.head_position(connection=connection)
    if newest is None:
        if head == 0:
            return [well("checkpoints", "the log is empty: nothing is to be signed")]
        return [
            warning(
                "checkpoints", f"none was signed yet, of {head:,} events",
                "The sealer runs in the engine: is one up? See MACAO_CHECKPOINT_SECONDS.",
            )
        ]  # fmt: skip
    rewritten = "Stop writing, keep the database as it is, run macao audit --all (runbook: LogRewritten)."
    if not is_signed(newest):
        return [failure("checkpoints", f"that of {newest.size:,} events has a false signature", rewritten)]
    if newest.size > head:
        return [
            failure(
                "checkpoints",
                f"{newest.size:,} events were signed, {head:,} are there: a tail was lost",
                rewritten,
            )
        ]
    findings = await _outside(patient, connection, store, newest.size)
    age = await connection.fetchval(
        "SELECT extract(epoch FROM clock_timestamp() - min(recorded_at))::float8 FROM"  # noqa: S608
        f" (SELECT recorded_at FROM {log.schema}.events WHERE position > $1 ORDER BY position LIMIT 1) AS next",
        newest.size,
    )
    if age is not None and age > max(SEAL_LAG_SECONDS, 3 * patient.settings.checkpoint_seconds):
        findings.append(
            warning(
                "checkpoints", f"{head - newest.size:,} events are not signed, the oldest for {age:.0f} s",
                "The sealer runs in the engine: is one up, and what does its log say?",
            )
        )  # fmt: skip
    return findings or [well("checkpoints", f"{newest.size:,} of {head:,} events are signed")]


async def _outside(patient: Patient, connection: Any, store: TreeStore, size: int) -> list[Finding]:
    directory = patient.directory("checkpoint_directory")
    if directory is None:
        return [
            warning(
                "checkpoints", "they are kept nowhere but in the database",
                "Set MACAO_CHECKPOINT_DIRECTORY to a place on another disk or machine, and back it up.",
            )
        ]  # fmt: skip
    file = OutsideFile(directory, store.log)
    if not file.path.is_file():
        return [
            warning(
                "checkpoints", f"{file.path} is not here",
                "Run this where the engine runs, or see MACAO_CHECKPOINT_DIRECTORY.",
            )
        ]  # fmt: skip
    last = None
    for line in file.read():
        if isinstance(line, UnreadableLine):
            return [
                failure(
                    "checkpoints",
                    f"{file.path} line {line.line}: {line.problem}",
                    "Restore it from its backup.",
                )
            ]
        # What was signed before a declared loss may be of events that are gone.
        last = line if isinstance(line, Checkpoint) else None
    if last is None:
        return []
    broken = (
        "The log is not the one that was signed: stop writing, run macao audit --all (runbook: LogRewritten)."
    )
    if last.size > size:
        return [
            failure(
                "checkpoints", f"outside {last.size:,} events are signed, in the database {size:,}", broken
            )
        ]
    try:
        root = (await store.root_at(connection, last.size)).hex()
    except MissingNodeError as error:
        return [
            failure(
                "checkpoints",
                f"the tree has a hole: {error}",
                "Tiles are made again by the sealer: restart it.",
            )
        ]
    return (
        []
        if root == last.root
        else [failure("checkpoints", f"the first {last.size:,} events are others", broken)]
    )


def _broken(stream: str, version: int) -> Finding:
    return failure(
        "chains", f"{stream} is broken at version {version}",
        f"Keep the database as it is, and run macao audit {stream} and macao audit --all: they say what was changed.",
    )  # fmt: skip
